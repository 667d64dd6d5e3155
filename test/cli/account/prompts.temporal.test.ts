import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasTerminal, type OnTerminal, startOnTerminal } from '../../harness/cli/terminal.js';
import { newFolder } from '../../harness/folder.js';

describe.skipIf(!hasTerminal)(
  'heddle provider add on a terminal (skipped where there is no program script, of util-linux)',
  () => {
    let folder: string;
    const running: OnTerminal[] = [];
    beforeEach(() => {
      folder = newFolder();
    });
    afterEach(() => {
      for (const terminal of running.splice(0)) terminal.kill();
    });

    const start = (...words: readonly string[]): OnTerminal => {
      const terminal = startOnTerminal(['provider', 'add', ...words], {
        cwd: folder,
        env: { HEDDLE_DATA_FOLDER: join(folder, 'data') },
      });
      running.push(terminal);
      return terminal;
    };

    it('asks for the fields of the plugin, shows no secret, and repeats questions with wrong or missing answers', async () => {
      const terminal = start('try', '--type', 'local');
      await terminal.answer('endpoint: ', 'http://127.0.0.1:1\r');
      await terminal.answer('apiKey: ', '\r');
      await terminal.answer('apiKey: ', 'hunterr\u007f22\r');
      expect(await terminal.ended).toBe(0);
      expect(terminal.shown()).toMatch(
        /Address of the machine service \(required\)\r\n {2}URL that the service prints when it starts[^]*API key \(required\)/,
      );
      expect(terminal.shown()).toContain('apiKey: is missing');
      expect(terminal.shown()).not.toContain('hunter');
      expect(terminal.shown().match(/\((?:required|optional|needed)/g)).toHaveLength(3);
      expect(await readFile(join(folder, 'data', 'secrets', 'try', 'apiKey'), 'utf8')).toBe('hunter22\n');
      expect(await readFile(join(folder, 'heddle.yaml'), 'utf8')).toContain('endpoint: http://127.0.0.1:1');
    });

    it('shows options, defaults and alternatives, and checks each answer', async () => {
      const terminal = start('rack', '--type', 'static', '--field', 'inventory=./r.yaml');
      await terminal.answer('machines: ', '\r');
      await terminal.answer('groups: ', 'a, b\r');
      await terminal.answer('slots: ', 'many\r');
      await terminal.answer('slots: ', '2\r');
      await terminal.answer('liveness: ', 'ssh\r');
      for (const key of ['user', 'port', 'keyFile', 'agent', 'knownHosts', 'programs'])
        await terminal.answer(`${key}: `, '\r');
      expect(await terminal.ended).toBe(0);
      const shown = terminal.shown();
      for (const said of [
        'It needs machines, or inventory.',
        '(one of several)',
        'should be a number, but is "many"',
        'one of none, ssh',
        'default: 22',
      ])
        expect(shown).toContain(said);
      expect(await readFile(join(folder, 'heddle.yaml'), 'utf8')).toBe(
        'providers:\n  rack:\n    type: static\n    fields:\n      inventory: ./r.yaml\n      groups:\n        - a\n        - b\n      slots: 2\n      liveness: ssh\n',
      );
    });

    it('asks again for a field that another one requires', async () => {
      const terminal = start('box', '--type', 'docker', '--field', 'cert=file:/etc/cert.pem');
      for (const key of ['endpoint', 'ca', 'key', 'privateKey', 'publicKeys', 'user', 'network', 'reachBy'])
        await terminal.answer(`${key}: `, '\r');
      for (const key of ['address', 'init']) await terminal.answer(`${key}: `, '\r');
      await terminal.answer('key: ', 'file:/etc/key.pem\r');
      expect(await terminal.ended).toBe(0);
      expect(terminal.shown()).toContain('(required when cert is given)');
      expect(terminal.shown()).toContain('key: is missing. It is required when cert is given.');
    });

    it('changes nothing after Ctrl-D', async () => {
      const terminal = start('try', '--type', 'local');
      await terminal.answer('endpoint: ', '\u0004');
      expect(await terminal.ended).toBe(130);
      expect(terminal.shown()).toContain('stopped; nothing was changed');
      expect(await readdir(folder)).toEqual([]);
    });

    it('changes nothing after Ctrl-C at a secret that is half typed', async () => {
      const terminal = start('try', '--type', 'local');
      await terminal.answer('endpoint: ', 'http://127.0.0.1:1\r');
      await terminal.answer('apiKey: ', 'hunter\u0003');
      expect(await terminal.ended).toBe(130);
      expect(terminal.shown()).not.toContain('hunter');
      expect(await readdir(folder)).toEqual([]);
    });
  },
);
