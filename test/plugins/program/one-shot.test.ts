import { homedir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../harness/until.js';
import {
  failureOf,
  openPrograms,
  providerDescriptor,
  type ProgramBench,
} from '../../harness/programs/bench.js';
import { processesWith } from '../../harness/processes.js';

/** A unique number of seconds; it identifies the `sleep` processes of the program. */
const mark = String(100_000 + process.pid);

const script = `#!/bin/sh
IFS= read -r task
how=$(printf '%s\\n' "$task" | sed 's/.*"how":"\\([^"]*\\)".*/\\1/')
case $how in
  good) echo '{"status": 0, "result": {"providerid": "m-1"}}' ;;
  'in several lines') printf '{\\n  "status": 0,\\n  "result": {\\n    "providerid": "m-2"\\n  }\\n}' ;;
  'does not read') exec 0<&-; echo '{"status": 0, "result": {"providerid": "m-3"}}' ;;
  'end of input') cat >/dev/null; echo '{"status": 0, "result": {"providerid": "m-4"}}' ;;
  environment) printf '{"status": 0, "result": {"providerid": "m", "names": "%s", "home": "%s", "folder": "%s"}}' "$(env | sed 's/=.*//' | sort | tr '\\n' ' ')" "$HOME" "$PWD" ;;
  'no status') echo '{"result": {"providerid": "m"}}' ;;
  'status as text') echo '{"status": "0", "result": {"providerid": "m"}}' ;;
  'status 1.5') echo '{"status": 1.5}' ;;
  'status 3') echo 'it went wrong' >&2; echo '{"status": 3, "stderr": "went wrong"}' ;;
  nothing) ;;
  'only words') echo 'I am done' ;;
  'two results') echo '{"status": 0}'; echo '{"status": 0}' ;;
  'exit code') echo 'no such thing' >&2; exit 4 ;;
  'exit code and result') echo '{"status": 0, "result": {"providerid": "m"}}'; exit 4 ;;
  killed) kill -9 $$ ;;
  'not ready') echo '{"status": 1, "error": {"kind": "NotReady", "message": "still booting", "retryAfterMs": 700}}' ;;
  'unknown kind') echo '{"status": 1, "error": {"kind": "Sad", "message": "oh"}}' ;;
  'error and status 0') echo '{"status": 0, "error": {"kind": "Quota", "message": "oh"}}' ;;
  prototype) echo '{"status": 0, "result": {"__proto__": {"polluted": true}, "providerid": "m"}}' ;;
  reserved) echo '{"status": 0, "result": {"providerid": "m", "flavor": "mine"}}' ;;
  'too long') head -c 20000000 /dev/zero | tr '\\0' x ;;
  'too long in lines') yes '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"' ;;
  '10 MB') head -c 10000000 /dev/zero | tr '\\0' x ;;
  'too many lines') yes '{"log": "info", "message": ""}' ;;
  'many words') yes 'words for people' | head -c 20000000 >&2; echo 'the last words' >&2; exit 5 ;;
  'a binary result') head -c 5000 /dev/urandom ;;
  log) echo plain words >&2; echo '{"level": "warn", "message": "a warning", "attributes": {"a": 1}}' >&2; echo '{"log": "error", "message": "an error"}'; echo '{"status": 0, "result": {"providerid": "m-5"}}' ;;
  hang) sleep ${mark} ;;
  'deaf hang') trap '' TERM; sleep ${mark}; sleep ${mark} ;;
  'leaves a child') sleep ${mark} >/dev/null 2>&1 & echo '{"status": 0, "result": {"providerid": "m-6"}}' ;;
  'leaves a child with its output') setsid sleep ${mark} & echo '{"status": 0, "result": {"providerid": "m-7"}}' ;;
  'broken request') printf '{"id": 1, "request": "secret", "reference": "a "b""}\n'; IFS= read -r answer; echo "$answer" ;;
  'request without id') echo '{"request": "secret", "reference": "a"}'; IFS= read -r answer; echo "$answer" ;;
  'cut request') echo '{"id": 1, "request": "secret", "reference": "a'; IFS= read -r answer; exit 3 ;;
  'deaf after a broken request') echo 'secret a'; sleep ${mark} ;;
  undeclared) echo '{"id": 1, "request": "secret", "reference": "env:TOKEN"}'; echo '{"status": 0, "result": {"providerid": "m-8"}}' ;;
esac
`;

let bench: ProgramBench;
beforeAll(async () => {
  bench = await openPrograms(
    {
      'providers/p/p.sh': script,
      // The same with little patience, for what hangs.
      'providers/q/p.sh': script,
      'providers/q/q.json': providerDescriptor({ name: 'q', command: ['./p.sh'], callDeadlineMs: 1_000 }),
      'providers/r/p.sh': script,
      'providers/r/r.json': providerDescriptor({ name: 'r', command: ['./p.sh'], requests: ['secret'] }),
      'providers/p/p.json': providerDescriptor({ command: ['./p.sh'], environment: { REGION: 'north' } }),
    },
    {
      environment: {
        HTTPS_PROXY: 'http://proxy',
        HEDDLE_KEYS: 'secret keys',
        TEMPORAL_API_KEY: 'k',
        AWS_SECRET_ACCESS_KEY: 's',
      },
      passed: { p: ['HTTPS_PROXY', 'ABSENT'], q: ['AWS_SECRET_ACCESS_KEY'] },
    },
  );
});
afterAll(() => bench.close());

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const fail = (how: string) => failureOf(bench.run('CREATE', how));

describe('a program for each task', () => {
  it.concurrent.each([
    ['good', 'm-1'],
    ['in several lines', 'm-2'],
    ['does not read', 'm-3'],
    ['end of input', 'm-4'],
  ])('%s: its result is accepted', async (how, providerid) => {
    expect((await bench.run('CREATE', how)).result).toEqual({ providerid });
  });

  // Promise: plugin-environment
  it('gets PATH, HOME, LANG, the values of its descriptor and what heddle.yaml grants it, and works in its own folder', async () => {
    const { result } = await bench.run('CREATE', 'environment');
    // Those that every shell sets for itself are left aside.
    const names = textOf(result?.['names'])
      .trim()
      .split(' ')
      .filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name));
    expect(names).toEqual(['HOME', 'HTTPS_PROXY', 'LANG', 'PATH', 'PYTHONPATH', 'REGION', 'RUBYLIB']);
    expect(result?.['folder']).toBe(`${bench.folder}/providers/p`);
    expect(textOf(result?.['home'])).not.toBe(homedir());
  });

  it.concurrent.each([
    ['no status', 'status is missing. A program must return it: 0 for success'],
    ['status as text', 'status should be a whole number, but is "0"'],
    ['status 1.5', 'status should be a whole number'],
    ['nothing', 'status is missing'],
    ['only words', 'its program\'s output is not JSON: "I am done"'],
    ['two results', 'output is not JSON'],
    ['unknown kind', 'error.kind'],
    ['error and status 0', 'status is 0, but error is set'],
    ['prototype', 'result.__proto__ is a forbidden key'],
    ['a binary result', 'output is not JSON'],
  ])('%s: is refused, with plugin and field named', async (how, words) => {
    const failure = await fail(how);
    expect(failure).toMatchObject({
      type: 'Invalid',
      nonRetryable: true,
      message: expect.stringContaining('CREATE app-1: plugin p returned no valid result'),
    });
    expect(failure.message).toContain(words);
  });

  it.concurrent.each([
    ['broken request', `(not JSON: Expected ',' or '}' after property value at position 48, near "ecret`],
    ['request without id', '(a request has "request", a string, and "id", an integer): '],
    ['cut request', '(not JSON: Bad control character in string literal at position'],
    ['deaf after a broken request', '(it is not JSON): "secret a"'],
  ])('%s: is refused at once, with the line', async (how, words) => {
    const failure = await failureOf(bench.run('CREATE', how, { plugin: 'r' }));
    expect(failure).toMatchObject({ type: 'Invalid', nonRetryable: true });
    expect(failure.message).toContain(
      `its program printed a line that is neither a request nor the start of a result ${words}`,
    );
  });

  it.concurrent('prints a result in several lines also where it may make requests', async () => {
    expect((await bench.run('CREATE', 'in several lines', { plugin: 'r' })).result).toEqual({
      providerid: 'm-2',
    });
  });

  it('cannot set what only Heddle sets', async () => {
    expect(await fail('reserved')).toMatchObject({
      type: 'Invalid',
      message:
        'CREATE app-1: plugin p returned flavor, which is reserved for Heddle; return it under another key',
    });
  });

  it.concurrent.each([
    ['exit code', 'its program ended with exit code 4; its last output: no such thing'],
    ['killed', 'was ended by SIGKILL'],
    ['exit code and result', 'plugin p returned status 0, but its program ended with exit code 4'],
    ['many words', 'the last words'],
    ['10 MB', 'it printed a result of more than'],
    ['too long', 'it wrote a result line of more than'],
    ['too long in lines', 'it printed a result of more than'],
    ['too many lines', 'it wrote more than'],
  ])('%s: counts as an error of the plugin', async (how, words) => {
    const failure = await fail(how);
    expect(failure).toMatchObject({ type: 'Internal', nonRetryable: false });
    expect(failure.message).toContain(words);
  });

  it('reports by status and error why it failed', async () => {
    expect(await fail('status 3')).toMatchObject({
      type: 'Invalid',
      message: 'CREATE app-1: plugin p ended with status 3',
      details: [expect.objectContaining({ exitCode: 3, stderr: 'went wrong' })],
    });
    expect(await fail('not ready')).toMatchObject({
      type: 'NotReady',
      nonRetryable: false,
      message: 'CREATE app-1: still booting',
      nextRetryDelay: 700,
    });
  });

  it('logs its output at its level', async () => {
    expect((await bench.run('CREATE', 'log')).result).toEqual({ providerid: 'm-5' });
    const logged = bench.logged.join('\n');
    for (const words of ['plain words', 'a warning {"a":1}', 'an error']) expect(logged).toContain(words);
  });

  it.concurrent.each(['hang', 'deaf hang'])('%s: is ended at its deadline', async (how) => {
    const failure = await failureOf(bench.run('CREATE', how, { plugin: 'q' }));
    expect(failure).toMatchObject({
      type: 'Internal',
      nonRetryable: false,
      message: expect.stringContaining('plugin q hangs: it did not answer create in time'),
    });
  });

  it('is distinguished from a task that was cancelled', async () => {
    const cancelled = bench.run('DELETE', 'hang', {
      more: { config: { providerid: 'm' } },
      onStart: (cancel) => void until('it runs', () => processesWith(mark).length > 0).then(cancel),
    });
    await expect(cancelled).rejects.toMatchObject({ name: 'CancelledFailure' });
    await until('it is gone', () => processesWith(mark).length === 0);
  });

  it('ends together with what it left running', async () => {
    expect((await bench.run('CREATE', 'leaves a child')).result).toEqual({ providerid: 'm-6' });
    expect((await bench.run('CREATE', 'leaves a child with its output')).result).toEqual({
      providerid: 'm-7',
    });
    await until('the children are gone', () => processesWith(mark).length === 0);
  });

  it('may request only what its descriptor declares', async () => {
    expect((await bench.run('CREATE', 'undeclared')).result).toEqual({ providerid: 'm-8' });
  });
});
