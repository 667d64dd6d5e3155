import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandPath } from '../../harness/cli/run-heddle.js';
import {
  failureOf,
  openPrograms,
  providerDescriptor,
  type ProgramBench,
} from '../../harness/programs/bench.js';

// What a plugin in Python or Ruby does wrong, by the libraries for plugins. Both have the same texts.

const python = `#!/usr/bin/env python3
import subprocess
from heddle_plugin import Provider, PluginError, not_ready, run

class P(Provider):
    def create(self, given):
        how = self.fields["how"]
        if how == "noise":
            print("printed")
            subprocess.run(["echo", "of a child"])
            self.log.warning("logged")
        if how == "raise":
            raise ValueError("no such \\u00fcmlaut")
        if how == "not json":
            return {"providerid": object()}
        if how == "capacity":
            raise PluginError("Capacity", "the cloud is full", remedy="order more")
        if how == "not ready":
            raise not_ready("it boots", 700)
        if how == "secret":
            self.request("secret", reference="env:TOKEN")
        if how == "exit":
            raise SystemExit(3)
        return {"providerid": "m-1"}

run(P)
`;

const ruby = `#!/usr/bin/env ruby
require 'heddle_plugin'

class P < Heddle::Provider
  def create(_given)
    case fields['how']
    when 'noise'
      puts 'printed'
      system('echo', 'of a child')
      log.warn('logged')
    when 'raise' then raise ArgumentError, "no such \\u00fcmlaut"
    when 'not json' then return { 'providerid' => Float::NAN }
    when 'capacity' then raise Heddle::PluginError.new('Capacity', 'the cloud is full', remedy: 'order more')
    when 'not ready' then raise Heddle.not_ready('it boots', 700)
    when 'secret' then request('secret', reference: 'env:TOKEN')
    when 'exit' then exit(3)
    end
    { 'providerid' => 'm-1' }
  end
end

Heddle.run(P)
`;

describe.each([
  ['Python', 'python3', 'py', python],
  ['Ruby', 'ruby', 'rb', ruby],
])('a plugin in %s', (_language, interpreter, ending, source) => {
  const isThere = spawnSync(interpreter, ['--version']).status === 0;
  let bench: ProgramBench;
  beforeAll(async () => {
    if (!isThere) return;
    bench = await openPrograms({
      'providers/p/p.json': providerDescriptor({ command: [`./p.${ending}`], requests: ['secret'] }),
      [`providers/p/p.${ending}`]: source,
    });
  });
  afterAll(() => bench?.close());

  it.skipIf(!isThere)('may print what it likes: only its result is read as one', async () => {
    expect(await bench.run('CREATE', 'noise')).toMatchObject({ result: { providerid: 'm-1' } });
    expect(bench.logged.join('\n')).toMatch(/printed[^]*of a child[^]*logged|logged[^]*printed/);
  });

  it.skipIf(!isThere).each([
    ['raise', 'Internal', 'no such ümlaut'],
    ['not json', 'Internal|Invalid', 'not JSON|NaN'],
    ['capacity', 'Capacity', 'the cloud is full'],
    ['not ready', 'NotReady', 'it boots'],
    ['secret', 'Auth', 'a plugin may request only the secrets of its task'],
    ['exit', 'Internal', 'ended with exit code 3'],
  ])('that does this: %s, fails with %s', async (how, kind, message) => {
    const failure = await failureOf(bench.run('CREATE', how));
    expect(failure.type).toMatch(new RegExp(`^(${kind})$`));
    expect(failure.message).toMatch(new RegExp(message));
  });
});

const root = join(import.meta.dirname, '../../..');

describe.each([
  ['python', 'python3', 'PYTHONPATH'],
  ['ruby', 'ruby', 'RUBYLIB'],
])('the example of the page in %s', (language, interpreter, variable) => {
  const page = readFileSync(join(root, 'docs/reference/plugins/sdks.md'), 'utf8');
  const [, source = ''] = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  const isThere = spawnSync(interpreter, ['--version']).status === 0;
  const answer = (call: string, input: object, protocol = 1): unknown => {
    const { stdout } = spawnSync(interpreter, [language === 'python' ? '-c' : '-e', source], {
      input: JSON.stringify({ protocol, call, input }),
      encoding: 'utf8',
      env: {
        PATH: commandPath,
        LANG: 'C.UTF-8',
        [variable]: join(root, 'sdk', language),
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });
    return JSON.parse(stdout);
  };

  it.skipIf(!isThere)('answers each call, and refuses others and other versions of the protocol', () => {
    expect(answer('create', { flavor: 'small' })).toEqual({
      status: 0,
      result: { providerid: 'i-0abc', 'ssh-auth': { user: 'root' } },
    });
    expect(answer('confirm', {})).toEqual({
      status: 1,
      error: { kind: 'NotReady', message: 'the machine boots', retryAfterMs: 500 },
    });
    expect(answer('delete', {})).toEqual({ status: 0, result: {} });
    expect(answer('find', { key: 'k' })).toEqual({ status: 0, result: [] });
    for (const call of ['powerStatus', 'send', '__class__', 'instance_eval'])
      expect(answer(call, { arguments: ['x'] })).toMatchObject({ status: 1 });
    expect(answer('create', {}, 99)).toMatchObject({
      error: {
        kind: 'Invalid',
        message: expect.stringContaining('does not speak version 99 of the protocol'),
      },
    });
  });
});
