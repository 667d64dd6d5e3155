import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { WaitResult } from '../../../src/client/wait.js';
import { type Stack, startStack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { closed } from '../../harness/workflows/spec.js';
import { writeFiles } from '../../harness/programs/bench.js';
import { processesWith } from '../../harness/processes.js';

const examples = join(import.meta.dirname, '../../../examples/plugins');

/** What the bad plugin calls its processes. */
const mark = `heddle-test-${process.pid}-cluster`;

const bad = `
export class Bad {
  constructor({ log }) { this.log = log; }
  async bootstrap() {}
  async install(_auth, script) {
    process.title = '${mark}';
    if (script === 'exit') process.exit(1);
    if (script === 'reject') void Promise.reject(new Error('rejected by the test'));
    if (script === 'loop') for (;;);
    return script === 'garbage' ? { status: '0' } : new Promise(() => undefined);
  }
  async configure() {}
  async init() {}
  async start() {}
  async stop() {}
  async remove() {}
}
`;

let stack: Stack;
let worker: WorkerProcess;
beforeAll(async () => {
  const providers: Record<string, object> = {};
  const plugins = [examples];
  const config = { providers, plugins, pluginLimits: { bad: { time: '1s', memoryMb: 400 } } };
  stack = await startStack({ config });
  const fields = { endpoint: stack.service.endpoint, apiKey: { secret: `file:${stack.service.apiKeyFile}` } };
  Object.assign(providers, { local: { type: 'local', fields }, python: { type: 'machines', fields } });
  const descriptor = {
    type: 'automator',
    class: 'Bad',
    entry: './bad.mjs',
    version: '1.0.0',
    description: 'Goes wrong',
    prepares: 'users',
    fields: { user: { script: { title: 'Script', type: 'text' } } },
  };
  writeFiles(stack.folder, {
    'plugins/automators/bad/bad.mjs': bad,
    'plugins/automators/bad/bad.json': { name: 'bad', ...descriptor },
    'plugins/automators/patient/bad.mjs': bad,
    'plugins/automators/patient/patient.json': { name: 'patient', ...descriptor },
  });
  plugins.push(join(stack.folder, 'plugins'));
  worker = await stack.startWorker();
});

async function finish(name: string, operation: string | undefined): Promise<WaitResult> {
  return stack.client.waitFor(name, operation ?? '');
}

/** A failure's own words say more than that it is not done. */
async function finishWell(name: string, operation: string | undefined): Promise<void> {
  const { status, operation: ended } = await finish(name, operation);
  expect([ended.state, ...status.nodes.flatMap(({ failure }) => failure?.message ?? [])]).toEqual(['done']);
}

/**
 * A cluster on machines that the provider in Python gets, with a service that the automator in shell carries
 * out.
 */
function good(name: string): ReturnType<typeof closed> {
  const script = (text: string): object => ({ type: 'steps', fields: { script: text } });
  return closed({
    name,
    nodes: { app: { count: 2, provider: 'python', hardware: 'small', image: 'host', services: ['app'] } },
    services: {
      app: {
        actions: {
          install: {
            type: 'steps',
            fields: {
              script: 'cat >"$HOME/app"; echo "greeting=$(cat "$HOME/app")" >>"$HEDDLE_RESULT"',
              data: 'hello "you" \\',
            },
          },
          start: script('echo "notes=$(cat "$HOME/.steps/done")" >>"$HEDDLE_RESULT"'),
          stop: script('echo stopped'),
        },
      },
    },
  });
}

function withBad(name: string, type: string, script: string): ReturnType<typeof closed> {
  return closed({
    name,
    nodes: { app: { count: 1, provider: 'python', hardware: 'small', image: 'host', services: ['app'] } },
    services: { app: { actions: { install: { type, attempts: 1, fields: { script } } } } },
  });
}

async function tearDown(name: string): Promise<void> {
  const { operation } = await stack.client.delete(name);
  await finishWell(name, operation);
}

describe('plugins that run as programs, in a worker', () => {
  test('a provider in Python and an automator in shell create a cluster, and delete it without a trace', async () => {
    const { operation } = await stack.client.apply(good('good'));
    await finishWell('good', operation);
    const payload = await stack.client.payload('good', 'app-2');
    expect(payload).toMatchObject({ greeting: 'hello "you" \\', notes: 'install' });
    await tearDown('good');
    expect(await stack.service.machines()).toEqual([]);
  });

  test('fail only their own task; the worker lives, and others continue', async () => {
    const cases = [
      ['exit', 'plugin bad returned no result: its program ended with exit code 1'],
      ['reject', 'rejected by the test'],
      ['loop', 'plugin bad hangs: it did not answer install in time'],
      ['garbage', 'status should be a whole number, but is "0"'],
      ['hang', 'plugin bad hangs: it did not answer install in time'],
    ] as const;
    const operations = await Promise.all(
      cases.map(([how]) => stack.client.apply(withBad(`bad-${how}`, 'bad', how))),
    );
    const beside = await stack.client.apply(good('beside'));
    await finishWell('beside', beside.operation);
    for (const [index, [how, words]] of cases.entries()) {
      const held = await finish(`bad-${how}`, operations[index]?.operation);
      expect(held.operation.state).toBe('held');
      expect(held.status.nodes[0]?.failure?.message).toContain(words);
    }
    await Promise.all(['beside', ...cases.map(([how]) => `bad-${how}`)].map(tearDown));
    expect(() => process.kill(worker.pid, 0)).not.toThrow();
    expect(processesWith(mark)).toEqual([]);
  });

  test('end with a worker that is killed', async () => {
    await stack.client.apply(withBad('killed', 'patient', 'loop'));
    await until('the program is in its loop', () => processesWith(mark).length > 0);
    await worker.kill();
    await until('the program is gone', () => processesWith(mark).length === 0);
  });
});
