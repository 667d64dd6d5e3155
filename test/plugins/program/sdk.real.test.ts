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
import sys
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
        if how == "nan":
            return {"providerid": float("nan")}
        if how == "bytes":
            return {"providerid": "m-1", "read": b"caf\\xc3\\xa9 \\xff".decode("utf-8", "surrogateescape")}
        if how == "bad error":
            raise PluginError("Invalid", "the cloud says no", result={"providerid": object()})
        if how == "circular":
            value = {}
            value["self"] = value
            return value
        if how == "bad message":
            raise PluginError("Capacity", b"caf\\xc3\\xa9 \\xff".decode("utf-8", "surrogateescape"))
        if how == "reads":
            return {"providerid": "m-1", "read": sys.stdin.read() + subprocess.run(["cat"], capture_output=True).stdout.decode()}
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
    when 'not json' then return { 'providerid' => Object.new }
    when 'nan' then return { 'providerid' => Float::NAN }
    when 'bytes' then return { 'providerid' => 'm-1', 'read' => "caf\\xc3\\xa9 \\xff".b }
    when 'bad error'
      raise Heddle::PluginError.new('Invalid', 'the cloud says no', result: { 'providerid' => Object.new })
    when 'bad message' then raise Heddle::PluginError.new('Capacity', "caf\\xc3\\xa9 \\xff")
    when 'circular'
      value = {}
      value['self'] = value
      return value
    when 'reads' then return { 'providerid' => 'm-1', 'read' => $stdin.read + %x(cat) }
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

  it.skipIf(!isThere)('cannot read the messages of the engine, nor can its children', async () => {
    expect(await bench.run('CREATE', 'reads')).toMatchObject({ result: { providerid: 'm-1', read: '' } });
  });

  it.skipIf(!isThere)('may return bytes that are not text: they are replaced', async () => {
    expect(await bench.run('CREATE', 'bytes')).toMatchObject({ result: { read: 'café \ufffd' } });
  });

  it.skipIf(!isThere).each([
    ['raise', 'Internal', 'no such ümlaut'],
    ['not json', 'Invalid', 'the value is not JSON: .*[oO]bject'],
    ['nan', 'Invalid', 'the value is not JSON: .*(NaN|float)'],
    ['circular', 'Invalid', 'the value is not JSON: .*(deep|Circular)'],
    // What the error was is in the stack of this one.
    ['bad error', 'Internal', 'the value is not JSON: .*[oO]bject'],
    ['bad message', 'Capacity', 'café \ufffd'],
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

/** Runs a program of a language with these lines on its standard input. */
function runLines(
  language: 'python' | 'ruby',
  source: string,
  lines: readonly unknown[],
): { readonly answer: unknown; readonly stderr: string } {
  const [interpreter, flag, variable] =
    language === 'python' ? ['python3', '-c', 'PYTHONPATH'] : ['ruby', '-e', 'RUBYLIB'];
  const { stdout, stderr } = spawnSync(interpreter, [flag, source], {
    input: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    encoding: 'utf8',
    env: {
      PATH: commandPath,
      LANG: 'C.UTF-8',
      [variable]: join(root, 'sdk', language),
      PYTHONDONTWRITEBYTECODE: '1',
    },
  });
  const last = stdout.trim().split('\n').at(-1) ?? '';
  return { answer: last === '' ? undefined : JSON.parse(last), stderr };
}

const asks = {
  python: `from heddle_plugin import Provider, run
class P(Provider):
    def create(self, given):
        return {"providerid": self.request("run", text="true")}
run(P)`,
  ruby: `require 'heddle_plugin'
class P < Heddle::Provider
  def create(_given)
    { 'providerid' => request('run', text: 'true') }
  end
end
Heddle.run(P)`,
};

describe.each(['python', 'ruby'] as const)('a request of a plugin in %s', (language) => {
  const isThere = spawnSync(language === 'python' ? 'python3' : 'ruby', ['--version']).status === 0;
  const task = { protocol: 1, call: 'create', input: {} };
  const answerTo = (...replies: readonly unknown[]): unknown =>
    runLines(language, asks[language], [task, ...replies]).answer;

  it.skipIf(!isThere).each([
    ['its own answer', [{ id: 1, result: 'm-1' }], { status: 0, result: { providerid: 'm-1' } }],
    [
      'its own answer after a late one',
      [
        { id: 0, result: 'late' },
        { id: 1, result: 'm-1' },
      ],
      { status: 0, result: { providerid: 'm-1' } },
    ],
    [
      'an error of the engine without the keys that it does not know',
      [{ id: 1, error: { kind: 'Auth', message: 'no', remedy: 'log in', novelKey: true } }],
      { status: 1, error: { kind: 'Auth', message: 'no', remedy: 'log in' } },
    ],
    [
      'that the call was ended',
      [{ cancel: 'over' }],
      { status: 1, error: { kind: 'Retryable', message: 'the call was ended: over' } },
    ],
    [
      'a fault for what is not an object',
      [5],
      { status: 1, error: { kind: 'Internal', message: 'a message of the engine is not a JSON object' } },
    ],
  ])('gets %s', (_what, replies, answer) => {
    expect(answerTo(...replies)).toMatchObject(answer);
    expect(JSON.stringify(answerTo(...replies))).not.toContain('novelKey');
  });
});

describe('a plugin in Python', () => {
  const source = `import logging, sys
from heddle_plugin import Provider, run
class P(Provider):
    def create(self, given):
        return ["m-1"]
    def delete(self, given):
        logging.getLogger("library").debug("of a library")
        self.log.debug("of the plugin")
run(P)`;
  const call = (name: string) => runLines('python', source, [{ protocol: 1, call: name, input: {} }]);

  it('fails if an action returns no mapping', () => {
    expect(call('create').answer).toEqual({
      status: 1,
      error: { kind: 'Invalid', message: 'create returned a list, which is not a mapping' },
    });
  });

  it('logs its own details, and not those of libraries', () => {
    expect(call('delete')).toEqual({
      answer: { status: 0, result: {} },
      stderr: '{"level": "debug", "message": "of the plugin"}\n',
    });
  });
});

describe.skipIf(spawnSync('ruby', ['--version']).status !== 0)('a plugin in Ruby', () => {
  const source = `require 'heddle_plugin'
module Listed
  def find(key)
    [{ 'providerid' => key, 'tags' => {}, state: :running }]
  end
end
class P < Heddle::Provider
  include Listed
  def create(_given)
    require 'no_such_library'
  end
end
Heddle.run(P)`;
  const call = (name: string, input: object = {}) =>
    runLines('ruby', source, [{ protocol: 1, call: name, input }]).answer;

  it('has the methods of its modules', () => {
    expect(call('find', { key: 'k' })).toEqual({
      status: 0,
      result: [{ providerid: 'k', tags: {}, state: 'running' }],
    });
    expect(call('instance_eval', { arguments: ['1'] })).toMatchObject({ error: { kind: 'Invalid' } });
  });

  it('reports a library that is missing', () => {
    expect(call('create')).toMatchObject({
      status: 1,
      error: { kind: 'Internal', message: 'cannot load such file -- no_such_library' },
    });
  });
});

describe.each([
  ['python', 'python3'],
  ['ruby', 'ruby'],
] as const)('the example of the page in %s', (language, interpreter) => {
  const page = readFileSync(join(root, 'docs/reference/plugins/sdks.md'), 'utf8');
  const [, source = ''] = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  const isThere = spawnSync(interpreter, ['--version']).status === 0;
  const answer = (call: string, input: object, protocol = 1): unknown =>
    runLines(language, source, [{ protocol, call, input }]).answer;

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
