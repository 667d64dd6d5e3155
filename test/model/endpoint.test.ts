import { expect, test } from 'vitest';
import { holdsCredentials, isUnprotected } from '../../src/model/endpoint.js';

test.each([
  ['https://cloud.example.com', false],
  ['unix:///var/run/docker.sock', false],
  ['http://127.0.0.1:5000', false],
  ['http://127.9.9.9', false],
  ['http://127.1', false],
  ['http://localhost:1', false],
  ['http://node.localhost', false],
  ['http://[::1]:80', false],
  ['HTTP://LOCALHOST', false],
  ['http://10.0.0.5', true],
  ['HTTP://cloud.example.com', true],
  ['tcp://10.0.0.5:2375', true],
  ['qemu+tcp://10.0.0.5/system', true],
  ['qemu+tcp://localhost/system', false],
  ['qemu+ssh://root@10.0.0.5/system', false],
  ['qemu:///system', false],
  ['http://localhost.example.com', true],
  ['http://127.0.0.1.example.com', true],
  ['http://0.0.0.0', true],
  ['http://[::ffff:127.0.0.1]', true],
  ['http://127.0.0.1@10.0.0.5', true],
  ['http://2130706433', false],
  [' http://10.0.0.5', true],
  ['http:/10.0.0.5', true],
  ['http:10.0.0.5', true],
  [String.raw`http:\\10.0.0.5`, true],
  ['ht\ntp://10.0.0.5', true],
  ['\thttp://localhost', false],
  ['no address', false],
])('credentials sent to %s can be read on the way: %s', (address, expected) => {
  expect(isUnprotected(address)).toBe(expected);
});

test.each([
  ['https://hooks.example.com/T0/token', false],
  ['https://user:password@hooks.example.com', true],
  ['https://token@hooks.example.com', true],
  ['https://:@hooks.example.com', false],
  ['no address', false],
])('%s holds credentials: %s', (address, expected) => {
  expect(holdsCredentials(address)).toBe(expected);
});
