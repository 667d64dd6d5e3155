import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { hostKeysFor } from '../../src/ssh/known-hosts.js';
import { makeHostKey, publicLine } from '../support/ssh-server.js';

const one = publicLine(makeHostKey().private);
const two = publicLine(makeHostKey('ecdsa').private);
const salt = Buffer.from('0123456789abcdefghij');
const hashed = (name: string): string => `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(name).digest('base64')}`;

test.each([
  ['a plain name', `node.example ${one}`, 'node.example', 22, [one]],
  ['a name in other letters', `Node.Example ${one}`, 'NODE.example', 22, [one]],
  ['one of several names', `a,b,10.0.0.7 ${one} comment`, '10.0.0.7', 22, [one]],
  ['all keys of a host', `node ${one}\nnode ${two}`, 'node', 22, [one, two]],
  ['another port', `[node]:2222 ${one}`, 'node', 2222, [one]],
  ['a port that was not asked for', `[node]:2222 ${one}`, 'node', 22, []],
  ['a name without the port that was asked for', `node ${one}`, 'node', 2222, []],
  ['a hashed name', `${hashed('node')} ${one}`, 'node', 22, [one]],
  ['a hashed name with its port', `${hashed('[node]:2222')} ${one}`, 'node', 2222, [one]],
  ['another hashed name', `${hashed('node')} ${one}`, 'edon', 22, []],
  ['a hash of unknown version', `${hashed('node').replace('|1|', '|2|')} ${one}`, 'node', 22, []],
  ['a pattern', `*.lab.example,10.0.?.1 ${one}`, 'n1.lab.example', 22, [one]],
  ['a pattern with dots, which are no wildcards', `10.0.0.1 ${one}`, '10x0y0z1', 22, []],
  ['a negated name', `*.lab.example,!bad.lab.example ${one}`, 'bad.lab.example', 22, []],
  ['an IPv6 address', `fe80::1 ${one}\n[fe80::2]:2222 ${two}`, 'fe80::2', 2222, [two]],
  ['a revoked key', `node ${one}\n@revoked * ${one}\nnode ${two}`, 'node', 22, [two]],
  ['a key revoked for another host', `node ${one}\n@revoked other ${one}`, 'node', 22, [one]],
  ['an authority, which is no host key', `@cert-authority *.example ${one}`, 'node.example', 22, []],
  ['an unknown mark', `@trusted node ${one}`, 'node', 22, []],
  ['comments, blank and broken lines', `# node ${one}\n\nnode\nnode ssh-ed25519\nnode ssh-ed25519 ####\nnode ssh-rsa ${one.split(' ')[1]}\r\nnode ${two}\r\n`, 'node', 22, [two]],
  ['another host', `node ${one}`, 'nodes', 22, []],
  ['an empty file', '', 'node', 22, []],
])('reads %s', (_name, text, host, port, keys) => {
  expect(hostKeysFor(text, host, port)).toEqual(keys);
});
