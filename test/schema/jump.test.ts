import { expect, test } from 'vitest';
import { readConfigFile } from '../../src/schema/read-config.js';

const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGkO';
const read = (jump: string, more = '') =>
  readConfigFile(`providers:\n  rack:\n    type: static\n    jump: ${jump}\n${more}`, 'heddle.yaml');

test.each([
  [`{host: bastion.example.org, user: ops, key: {secret: "file:/etc/heddle/key"}, hostKey: "${key}"}`],
  [`{host: "2001:db8::1", port: 2222, user: ops, agent: /run/agent, hostKey: ["${key}", "${key} comment"]}`],
])('a valid jump host: %s', (jump) => {
  expect(read(jump, '    hostKeys: provided\n').ok).toBe(true);
});

test.each([
  ['no host key', `{host: bastion, user: ops, agent: /run/agent}`, 'hostKey'],
  [
    'a fingerprint for a host key',
    `{host: bastion, user: ops, agent: /run/agent, hostKey: "SHA256:abc"}`,
    'ssh-ed25519',
  ],
  ['no credential', `{host: bastion, user: ops, hostKey: "${key}"}`, 'key, password or agent'],
  ['an option for a host', `{host: "-oProxyCommand=id", user: ops, agent: /a, hostKey: "${key}"}`, 'host'],
  ['an option for a user', `{host: bastion, user: "-l", agent: /a, hostKey: "${key}"}`, 'user'],
  [
    'a reference that is none',
    `{host: bastion, user: ops, key: {secret: "CANARY"}, hostKey: "${key}"}`,
    'key',
  ],
  [
    'a word that means nothing',
    `{host: bastion, user: ops, agent: /a, hostKey: "${key}", forwardAgent: true}`,
    'forwardAgent',
  ],
])('%s is refused with its place', (_name, jump, words) => {
  const reading = read(jump);
  if (reading.ok) throw new Error('it was taken');
  const text = JSON.stringify(reading.problems);
  expect(text).toContain(words);
  expect(reading.problems[0]?.place).toMatchObject({ file: 'heddle.yaml', line: 4 });
  expect(text).not.toContain('CANARY');
});

test('a policy for host keys is one of two', () => {
  expect(readConfigFile('providers: {rack: {type: static, hostKeys: no}}', 'heddle.yaml').ok).toBe(false);
});
