import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { findLogin } from '../../src/activities/provider/address.js';
import type { Json, JsonObject } from '../../src/model/json.js';
import { sshCommand } from '../../src/cli/access-text.js';
import { unsafeText, unsafeUser } from '../../src/model/safe-text.js';
import { loginFiles } from '../../src/plugins/automators/ansible/login.js';
import { ipmiSchema } from '../../src/plugins/bare-metal/ipmitool.js';
import { fillWords } from '../../src/plugins/fill-words.js';
import { consoleCommand } from '../../src/plugins/providers/redfish/http.js';
import { ping } from '../../src/worker/ping.js';
import { fc } from '../harness/property.js';
import { newFolder } from '../harness/folder.js';

// Promise: texts-stay-one-word
describe('text for a configuration file, an argument list or a header', () => {
  test.each<readonly [string, string]>([
    ['', 'is empty'],
    ['-oProxyCommand=x', 'begins with a hyphen'],
    ['a\nb', 'control character'],
    ['a\rb', 'control character'],
    ['a\0b', 'control character'],
    ['a\tb', 'control character'],
    ['a\u0085b', 'control character'],
    ['a\u2028b', 'control character'],
    ['\u001b[31m', 'control character'],
    ['a"b', 'quote'],
    ["a'b", 'quote'],
    ['a`b', 'quote'],
    ['a b', 'blank'],
    ['a\u00a0b', 'blank'],
  ])('is refused when it is %j', (text, why) => {
    expect(unsafeText(text)).toContain(why);
    expect(unsafeUser(text)).toContain(why);
  });

  test('may contain blanks and quotes if the caller permits them', () => {
    expect([
      unsafeText('/my agent', { blanks: true }),
      unsafeText("can't boot", { blanks: true, quotes: true }),
    ]).toEqual([undefined, undefined]);
    expect(unsafeText('a\nb', { blanks: true, quotes: true })).toContain('control character');
  });

  test.each(['%h', '${HOME}', '~root', 'a#b', 'a;b', 'a|b', 'a&b', '$(id)', 'a$b', 'a*'])(
    'is not a user when it is %j',
    (user) => {
      expect(unsafeUser(user)).toContain('contains a character');
    },
  );
});

const unsafe = ['-oProxyCommand=x', 'a\nb', 'a\rb', 'a\0b', 'a"b', "a'b", ''] as const;

// Promise: texts-stay-one-word
describe.each(unsafe)('%j', (text) => {
  const hostKey = 'ssh-ed25519 AAAA';
  const jump = { host: '192.0.2.9', port: 22, user: 'hop', hostKey };

  /** As a task, CONFIRM or a probe reads a payload. */
  const find = (auth: JsonObject, way: JsonObject = jump): Promise<unknown> =>
    findLogin(
      {
        providers: { lab: { type: 'static', site: 'here', fields: {}, jump: way } },
        registry: { providers: () => [] } as never,
        resolveSecrets: async (value) => ({ value, secrets: [] }),
      },
      { account: 'lab', config: { ipaddress: '192.0.2.1', 'ssh-auth': auth } },
      { hide: () => undefined },
    );

  test('is not a user or jump host of a login, wherever it comes from', async () => {
    await expect(find({ user: 'ops' })).resolves.toMatchObject({ address: { user: 'ops' } });
    const refused = { name: 'PluginError', kind: 'Invalid' };
    await expect(find({ user: text })).rejects.toMatchObject(refused);
    await expect(find({ user: 'ops' }, { ...jump, host: text })).rejects.toMatchObject(refused);
    await expect(find({ user: 'ops' }, { ...jump, user: text })).rejects.toMatchObject(refused);
  });

  test('enters no ssh_config of a play', () => {
    const node = { host: '192.0.2.1', port: 22, user: 'ops', hostKey };
    expect(loginFiles({ ...node, agent: '/my agent', jump }, '/play').ssh_config).toContain('/my agent');
    for (const address of [
      { ...node, user: text },
      { ...node, host: text },
      { ...node, agent: text },
      { ...node, jump: { ...jump, user: text } },
      { ...node, jump: { ...jump, host: text } },
      { ...node, jump: { ...jump, agent: text } },
    ])
      expect(() => loginFiles(address, '/play')).toThrow('automator ansible: ');
  });

  test('is not a word of a command for a controller or a host', async () => {
    const controller = { host: '192.0.2.1', user: 'admin', password: 'x' };
    expect(ipmiSchema.safeParse(controller).success).toBe(true);
    for (const wrong of [{ host: text }, { user: text }])
      expect(ipmiSchema.safeParse({ ...controller, ...wrong }).success).toBe(false);
    expect(consoleCommand.safeParse(text).success).toBe(false);
    const { signal } = new AbortController();
    const folder = newFolder();
    // It replies for every host, if it is started.
    writeFileSync(join(folder, 'ping'), '#!/bin/sh\n', { mode: 0o700 });
    vi.stubEnv('PATH', folder);
    try {
      expect([await ping('192.0.2.1', signal), await ping(text, signal)]).toEqual([true, undefined]);
    } finally {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the command of an administrator', () => {
  const command = ['tool', '--image={image}', '{reason}', '{unknown}'];

  test('gets each value as one word', () => {
    expect(fillWords(command, { image: 'base', reason: 'it can\'t "boot"; rm -rf' })).toEqual([
      'tool',
      '--image=base',
      'it can\'t "boot"; rm -rf',
      '{unknown}',
    ]);
    expect(fillWords(command, { image: '', reason: 'x' })[1]).toBe('--image=');
  });

  test.each(['--delete', '-', 'a\nb', 'a\0b'])('is refused with %j', (reason) => {
    expect(() => fillWords(command, { image: 'base', reason })).toThrow("{reason} in a program's command");
  });
});

describe("the command for a user's login", () => {
  test('has one shell word after each option, whatever the payload contains', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.jsonValue(), (user, host, port) => {
        expect(sshCommand({ user, address: host, port: port as Json })).toMatch(
          /^ssh -p [\d?]+ [^\s"'`$;&|<>()*\\#~-][^\s"'`$;&|<>()*\\#~]*$/u,
        );
      }),
    );
  });

  test.each(['root; touch x', '-oProxyCommand=x', 'a$(id)', 'a\nb'])('shows no user %j', (user) => {
    expect(sshCommand({ user, address: '192.0.2.1', port: 22 })).toBe('ssh -p 22 ?@192.0.2.1');
  });

  test('shows the login of a machine', () => {
    expect(sshCommand({ user: 'ops', address: '192.0.2.1', port: 2222 })).toBe('ssh -p 2222 ops@192.0.2.1');
  });
});
