import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../harness/until.js';
import {
  failureOf,
  openPrograms,
  providerDescriptor,
  type ProgramBench,
} from '../../harness/programs/bench.js';
import { processesWith } from '../../harness/processes.js';

/** A word in the arguments of processes that the plugin starts, by which they are found again. */
const mark = `heddle-test-${process.pid}-class`;

const code = `
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { PluginError, Provider } from 'heddle/plugin';

const forever = ['-e', 'setInterval(() => undefined, 1000)', '--', '${mark}'];

function writeAll(text) {
  for (let bytes = Buffer.from(text); bytes.length > 0;) {
    try {
      bytes = bytes.subarray(writeSync(3, bytes));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

export class P extends Provider {
  async create() {
    const cyclic = {};
    cyclic.self = cyclic;
    switch (this.fields.how) {
      case 'good': return { result: { providerid: 'm-1', pid: process.pid } };
      case 'hang': return new Promise(() => undefined);
      case 'busy loop': for (;;);
      case 'exit': process.exit(0);
      case 'exit code 7': process.exit(7);
      case 'unhandled rejection': void Promise.reject(new Error('rejected by the test')); return new Promise(() => undefined);
      case 'thrown later': setImmediate(() => { throw new Error('thrown later'); }); return new Promise(() => undefined);
      case 'abort': process.abort();
      case 'deaf to signals': process.on('SIGTERM', () => undefined); return new Promise(() => undefined);
      case 'memory': { const held = []; for (;;) { held.push(Buffer.alloc(8 * 1024 * 1024, 1)); await new Promise((resolve) => setTimeout(resolve, 2)); } }
      case 'memory at one go': { const held = []; for (;;) held.push(new Float64Array(1_000_000).fill(1)); }
      case 'children': for (let index = 0; index < 400; index += 1) spawn('sleep', ['1000']); return new Promise(() => undefined);
      case 'children of their own': for (let index = 0; index < 3; index += 1) spawn(process.execPath, forever, { detached: true, stdio: 'ignore' }).unref(); process.exit(3);
      case 'garbage on its line': writeSync(3, 'this is not JSON\\n'); return new Promise(() => undefined);
      case 'false result on its line': writeSync(3, '{"status": 0, "result": {"providerid": 7}}\\n'); return new Promise(() => undefined);
      case 'endless line': for (;;) writeAll('x'.repeat(65536));
      case 'printed garbage': console.log('this is for people'); process.stdout.write(Buffer.alloc(100_000, 120)); return { result: { providerid: 'm-2' } };
      case '10 MB': return { result: { providerid: 'm', blob: 'x'.repeat(10 * 1024 * 1024) } };
      case '3 MB line': writeAll(JSON.stringify({ status: 0, result: { blob: 'x'.repeat(3_000_000) } }) + '\\n'); return new Promise(() => undefined);
      case 'prototype': return { result: JSON.parse('{"providerid": "m", "__proto__": {"polluted": true}}') };
      case 'cyclic': return { result: { providerid: 'm', cyclic } };
      case 'bigint': return { result: { providerid: 'm', size: 5n } };
      case 'proxy': return new Proxy({}, { ownKeys() { throw new Error('touched'); } });
      case 'throws no error': throw { toString() { throw new Error('no words'); } };
      case 'quota': throw new PluginError('Quota', 'no more', { result: { providerid: 'm-9' } });
    }
  }
  async confirm() {}
  async delete() {}
}
`;

let bench: ProgramBench;
beforeAll(async () => {
  bench = await openPrograms({
    'providers/p/p.mjs': code,
    'providers/p/p.json': providerDescriptor({ entry: './p.mjs', class: 'P', limits: { memoryMb: 300 } }),
    // The same with little patience, for what hangs.
    'providers/q/p.mjs': code,
    'providers/q/q.json': providerDescriptor({
      name: 'q',
      entry: './p.mjs',
      class: 'P',
      callDeadlineMs: 1_000,
    }),
  });
});
afterAll(() => bench.close());

const fail = (how: string) => failureOf(bench.run('CREATE', how));

describe('a class that is not built in', () => {
  it('works in its own process, which is reused', async () => {
    const first = await bench.run('CREATE', 'good');
    const second = await bench.run('CREATE', 'good');
    expect(first.result).toMatchObject({ providerid: 'm-1' });
    expect(first.result?.['pid']).not.toBe(process.pid);
    expect(second.result?.['pid']).toBe(first.result?.['pid']);
  });

  it.concurrent.each([
    ['hang', 'plugin q hangs: it did not answer create in time'],
    ['busy loop', 'plugin q hangs: it did not answer create in time'],
    ['deaf to signals', 'plugin q hangs: it did not answer create in time; its program was ended by SIGKILL'],
  ])('%s: is ended at its deadline, and the task is retried', async (how, words) => {
    const failure = await failureOf(bench.run('CREATE', how, { plugin: 'q' }));
    expect(failure).toMatchObject({
      type: 'Internal',
      nonRetryable: false,
      message: expect.stringContaining(words),
    });
  });

  it.concurrent.each([
    ['exit', 'its program ended with exit code 0 before it answered'],
    ['exit code 7', 'its program ended with exit code 7'],
    ['unhandled rejection', 'rejected by the test'],
    ['thrown later', 'thrown later'],
    ['abort', 'was ended by SIGABRT'],
    ['memory', 'MB of memory; the limit is'],
    ['memory at one go', 'MB of memory; the limit is'],
    ['children', 'the limit is'],
    ['endless line', 'it wrote a result line of more than'],
  ])('%s: fails the task as an error of the plugin, with its name', async (how, words) => {
    const failure = await fail(how);
    expect(failure).toMatchObject({
      type: 'Internal',
      nonRetryable: false,
      message: expect.stringContaining('CREATE app-1: plugin p returned no result: its program'),
    });
    expect(failure.message).toContain(words);
    expect(failure.message.length).toBeLessThan(2_000);
  });

  it.concurrent.each([
    ['10 MB', 'result.blob exceeds the limit'],
    ['3 MB line', 'result.blob exceeds the limit'],
    ['prototype', 'result.__proto__ is a forbidden key'],
    ['cyclic', 'result.cyclic.self contains itself'],
    ['bigint', 'result.size is a bigint, which is not JSON'],
    ['proxy', 'it is a Proxy'],
    ['garbage on its line', 'its program\'s output is not JSON: "this is not JSON"'],
    ['false result on its line', 'providerid that should be text'],
  ])('%s: is refused, with plugin and field named', async (how, words) => {
    const failure = await fail(how);
    expect(failure).toMatchObject({
      type: 'Invalid',
      nonRetryable: true,
      message: expect.stringContaining('plugin p returned '),
    });
    expect(failure.message).toContain(words);
  });

  it('its errors arrive unchanged', async () => {
    const failure = await fail('quota');
    expect(failure).toMatchObject({
      type: 'Quota',
      message: 'CREATE app-1: no more',
      details: [expect.objectContaining({ result: { providerid: 'm-9' } })],
    });
    expect(await fail('throws no error')).toMatchObject({
      type: 'Internal',
      message: 'CREATE app-1: threw a object',
    });
  });

  it('its output is logged and has no effect', async () => {
    expect((await bench.run('CREATE', 'printed garbage')).result).toEqual({ providerid: 'm-2' });
    // Its output comes another way than its answer, and may be later.
    await until('what it printed is logged', () => bench.logged.join('\n').includes('this is for people'));
  });

  it('ends together with all that it started', async () => {
    expect((await fail('children of their own')).message).toContain('exit code 3');
    await until('the children are gone', () => processesWith(mark).length === 0);
  });

  it('continues with good calls after all of this, and changes no prototype', async () => {
    expect((await bench.run('CREATE', 'good')).result).toMatchObject({ providerid: 'm-1' });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
