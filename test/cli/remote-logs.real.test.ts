import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { stringify } from 'yaml';
import { type Ended, runHeddle, startHeddle } from '../harness/cli/run-heddle.js';
import {
  credentials,
  objectStoreIsMissing,
  startObjectStore,
  type ObjectStore,
} from '../harness/object-store.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const missing = objectStoreIsMissing();
if (missing !== undefined) console.info(`left out logs on another machine: ${missing}`);

/** The reader has a configuration and a data folder of its own, as another machine has. */
describe.skipIf(missing !== undefined)('logs of workers with an object store', () => {
  let remote: ObjectStore;
  let stack: Stack;
  beforeAll(async () => {
    remote = await startObjectStore();
    const { endpoint, bucket, prefix } = remote.settings;
    const secretFile = join(remote.folder, '..', '..', 'secret');
    writeFileSync(secretFile, `${credentials.secretAccessKey}\n`, { mode: 0o600 });
    const s3 = {
      ...{ endpoint, bucket, prefix },
      accessKeyId: credentials.accessKeyId,
      secretAccessKey: { secret: `file:${secretFile}` },
    };
    stack = await startStack({ config: { store: { s3 } } });
    const reader = join(stack.folder, 'reader');
    mkdirSync(reader, { mode: 0o700 });
    writeFileSync(
      join(reader, 'heddle.yaml'),
      stringify({
        dataFolder: join(reader, 'data'),
        keys: { folder: join(stack.folder, 'keys') },
        store: { s3 },
      }),
    );
  });
  afterAll(async () => {
    await stack.stop();
    await remote.close();
  });

  const reader = () => ({
    distPath: inject('distPath'),
    cwd: join(stack.folder, 'reader'),
    env: { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: stack.namespace },
  });
  const read = (...words: readonly string[]): Promise<Ended> => runHeddle(words, reader());
  /** A script that goes on once its gate is open. */
  const gated = (before: string, after: string) => {
    const gate = join(stack.folder, `gate-${before}`);
    return {
      script: `echo ${before}; while [ ! -e ${gate} ]; do sleep 0.2; done; echo ${after}`,
      openGate: () => writeFileSync(gate, ''),
    };
  };
  const spec = (name: string, start: string) =>
    closed({
      name,
      nodes: { app: nodes(1, ['web']) },
      services: {
        web: {
          actions: {
            install: { type: 'shell', fields: { script: 'echo installed by the first worker' } },
            start: { type: 'shell', fields: { script: start } },
          },
        },
      },
    });

  test('are read by heddle logs, task show and exec on another machine, also of a worker that was killed', async () => {
    const first = await stack.startWorker('first');
    const { script, openGate } = gated('started', 'still going');
    const { operation } = await stack.client.apply(spec('web', script));
    try {
      await until(
        'a line of the running task',
        async () => (await read('logs', 'web', 'app-1', '--action', 'START')).stdout.includes('| started'),
        120_000,
      );
      await first.kill();
    } finally {
      openGate();
    }
    await stack.startWorker('second');
    expect((await stack.client.waitFor('web', operation)).operation.state).toBe('done');
    await until('the last line', async () =>
      (await read('logs', 'web', 'app-1', '--action', 'START')).stdout.includes('| still going'),
    );
    const { stdout, code } = await read('logs', 'web');
    expect(code).toBe(0);
    for (const line of [
      'CREATE info: attempt 1',
      'web/INSTALL | installed by the first worker',
      'web/START info: attempt 2',
    ])
      expect(stdout).toContain(line);
    expect((await read('task', 'show', 'web', 'app-1/web/INSTALL')).stdout).toContain(
      'installed by the first worker',
    );
    const exec = await read('exec', 'web', '--json', '--', 'seq 1 2000');
    const { results } = JSON.parse(exec.stdout) as {
      readonly results: readonly { readonly stdout: string }[];
    };
    expect(results[0]?.stdout.trim().split('\n')).toHaveLength(2_000);
  });

  test('are followed on another machine, also when another worker continues, each line once, until Ctrl-C', async () => {
    const third = await stack.startWorker('third');
    const { script, openGate } = gated('begun', 'continued');
    const { operation } = await stack.client.apply(spec('tail', script));
    await until('the cluster is known', async () => (await read('status', 'tail')).code === 0);
    const follower = startHeddle(['logs', 'tail', '--follow'], reader());
    const count = (text: string): number => follower.stdout().split(text).length - 1;
    try {
      await until('a line of the running task', async () => count('web/START | begun') > 0, 120_000);
      await third.kill();
      openGate();
      await stack.startWorker('fourth');
      expect((await stack.client.waitFor('tail', operation)).operation.state).toBe('done');
      await until('the last line', async () => count('web/START | continued') > 0, 120_000);
      const { operation: restart } = await stack.client.operate('tail', { kind: 'restart', services: [] });
      expect((await stack.client.waitFor('tail', restart)).operation.state).toBe('done');
      // The attempt of the second worker repeats what the script has printed so far.
      await until('the last line of another operation', async () => count('| continued') === 2, 120_000);
      expect(count('web/INSTALL | installed by the first worker')).toBe(1);
    } finally {
      openGate();
      follower.child.kill('SIGINT');
    }
    expect((await follower.ended).code).toBe(130);
  });

  test('do not hold up tasks while the object store is down, and say so where they are read', async () => {
    await remote.stop();
    const { operation } = await stack.client.apply(spec('down', 'echo started'));
    expect((await stack.client.waitFor('down', operation)).operation.state).toBe('done');
    expect(await read('logs', 'down')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/bucket heddle-logs at .* does not answer/),
    });
    expect((await read('task', 'show', 'down', 'app-1/web/START')).stdout).toContain('started');
    expect((await read('doctor')).stdout).toMatch(/fail +object store .*does not answer/);
    await remote.start();
    await until(
      'the logs to arrive',
      async () => (await read('logs', 'down')).stdout.includes('| started'),
      120_000,
    );
    expect((await read('doctor')).stdout).toMatch(/ok +object store +bucket heddle-logs at .* can be read/);
  });
});
