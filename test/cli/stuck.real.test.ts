import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { clusterWorkflowId, clusterWorkflowType, workflowQueue } from '../../src/model/names.js';
import { loadSpecFile } from '../../src/schema/cluster/read.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ended, runHeddle, startHeddle } from '../harness/cli/run-heddle.js';
import { makeCluster, writeSpec } from '../harness/cli/spec.js';

/** Nobody listens at port 9. */
const silent = { type: 'local', fields: { endpoint: 'http://127.0.0.1:9', apiKey: 'none' } };

describe('heddle status of a stuck cluster', () => {
  let stack: Stack;
  beforeAll(async () => {
    const accounts = { far: { ...silent, site: 'moon' }, down: silent };
    stack = await startStack({ accounts });
    await stack.startWorker();
  });

  const settings = (env: Readonly<Record<string, string>> = {}): Parameters<typeof runHeddle>[1] => ({
    distPath: inject('distPath'),
    cwd: stack.folder,
    env: {
      HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: stack.namespace,
      ...env,
    },
  });
  const run = (...words: readonly string[]): Promise<Ended> => runHeddle(words, settings());
  const statusWith = (name: string, pattern: RegExp): Promise<Ended> =>
    until(`status of ${name} to say ${String(pattern)}`, async () => {
      const status = await run('status', name);
      return pattern.test(status.stdout) ? status : undefined;
    });

  it('names the queue without pollers, and what waits there', async () => {
    const file = await writeSpec(stack.folder, { name: 'moon', provider: 'far' });
    expect(await run('apply', file, '--no-wait')).toMatchObject({ code: 5 });
    // The command refuses a site without workers; they may also end after it.
    const reading = loadSpecFile(file);
    if (!reading.ok) throw new Error('the file is wrong');
    await stack.client.apply(reading.spec);
    const { stdout } = await statusWith('moon', /stuck: queue heddle\.moon/);
    expect(stdout).toMatch(
      /stuck: queue heddle\.moon\S*: no worker polls, so no worker of site moon takes its tasks; .* waits for it for [\d.]+ s/,
    );
    expect(stdout).toMatch(/^next: heddle worker +run a worker for it$/m);
    expect(JSON.parse((await run('status', 'moon', '--json')).stdout)).toMatchObject({
      phase: 'applying',
      server: {
        queues: expect.arrayContaining([
          { queue: expect.stringContaining('heddle.moon'), tasks: 'activities', workers: 0 },
        ]),
        activities: [{ state: 'waits for a worker', queue: expect.stringContaining('heddle.moon') }],
      },
    });
  });

  it('tells clients that wait for a machine, and how to end it', async () => {
    const adding = startHeddle(['machine', 'add', 'lab-1', '--provider', 'far'], settings());
    await until('it is told', async () =>
      adding
        .stdout()
        .includes('stuck: queue heddle.moon.far: no worker polls, so no worker of site moon takes its tasks'),
    );
    adding.child.kill('SIGINT');
    expect(await adding.ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('operation 1 of machine lab-1 continues'),
    });
    expect(await run('machine', 'load', 'lab-1', 'host')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("or cancel it ('heddle machine cancel lab-1')"),
    });
    await run('machine', 'cancel', 'lab-1', '--no-wait');
  });

  it('reports a task that fails and is retried', async () => {
    const file = await writeSpec(stack.folder, { name: 'down', provider: 'down' });
    expect(await run('apply', file, '--no-wait')).toMatchObject({ code: 0 });
    const { stdout } = await statusWith('down', /CREATE app-1 is being retried/);
    expect(stdout).toMatch(
      /stuck: CREATE app-1 is being retried, attempt \d+ after [\d.]+ s: .*127\.0\.0\.1:9.* \(Retryable\)/,
    );
  });

  it('tells clients that watch, once', async () => {
    const watching = startHeddle(['status', 'down', '--watch'], settings());
    await until('it is told', async () => watching.stdout().includes('stuck: '));
    await until('it is tried once more', async () =>
      /attempt ([4-9]|\d\d)/.test((await run('status', 'down')).stdout),
    );
    watching.child.kill('SIGINT');
    const { stdout } = await watching.ended;
    expect(stdout.match(/stuck: .*/g)).toEqual([
      expect.stringMatching(/^stuck: CREATE app-1 is being retried: [^]*127\.0\.0\.1:9/),
    ]);
  });

  it('explains why workers cannot execute a workflow', async () => {
    // As a build with another state would leave it.
    await stack.client.temporal.workflow.start(clusterWorkflowType, {
      workflowId: clusterWorkflowId('other'),
      taskQueue: workflowQueue,
      args: [{ carried: { name: 'other', uid: 'u' } }],
    });
    const { code, stdout } = await statusWith('other', /stuck: cluster\/other/);
    expect(code).not.toBe(0);
    expect(stdout).toMatch(
      /stuck: cluster\/other cannot continue: workers failed at it \d+ times? in a row, for [\d.]+ s: .*undefined/,
    );
  });

  it('names the missing key, and shows what the server knows without it', async () => {
    await makeCluster(stack.client, await writeSpec(stack.folder, { name: 'keyless' }));
    const keys = join(stack.folder, 'other keys');
    openKeyRing({ folder: keys, create: true });
    const config = join(stack.folder, 'other.yaml');
    await writeFile(config, JSON.stringify({ keys: { folder: keys } }));
    const status = await runHeddle(['status', 'keyless'], settings({ HEDDLE_CONFIG: config }));
    expect(status).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('cluster keyless: idle (last state known to the server)'),
      stderr: expect.stringMatching(/key/),
    });
  });
});
