import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { freePort } from '../harness/free-port.js';
import { lintMetrics } from '../harness/prometheus-lint.js';
import { startStack, type Stack, type WorkerProcess } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { heddleOn, startHeddle } from '../harness/cli/run-heddle.js';

/** One pool for all of it, as an operator has one. */
describe('heddle pool and heddle request', () => {
  let stack: Stack;
  let worker: WorkerProcess;
  let metrics: string;
  /** Two requests of one tenant: the second one has to wait for the first. */
  let small: string;
  let waits: string;
  beforeAll(async () => {
    metrics = `127.0.0.1:${await freePort()}`;
    stack = await startStack({ config: { metrics: { address: metrics } } });
    worker = await stack.startWorker();
    const offer = { hardware: 'tiny', image: 'host' };
    await writeFile(
      join(stack.folder, 'pools.yaml'),
      stringify({
        pools: {
          ci: {
            labels: { small: {}, large: { minReady: 1 } },
            providerPools: {
              main: { provider: 'local', limits: { nodes: 3 }, labels: { small: offer, large: offer } },
            },
            tenants: { acme: { nodes: 1 } },
          },
        },
      }),
    );
  });

  const { run, json } = heddleOn(() => stack);
  const idOf = (document: Readonly<Record<string, unknown>>): string => String(document['id']);
  const scrape = async (): Promise<string> => (await fetch(`http://${metrics}/metrics`)).text();

  it('reports that there are no pools yet', async () => {
    expect(await run('pool', 'list')).toMatchObject({ code: 0, stdout: expect.stringContaining('no pools') });
  });

  it('applies a file, which changes nothing the second time', async () => {
    expect(await run('pool', 'apply', 'pools.yaml')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^POOL +RESULT\nci +configured\n$/),
    });
    expect(await json('pool', 'apply', 'pools.yaml')).toMatchObject({
      pools: [{ name: 'ci', unchanged: true }],
    });
  });

  it('gives the place in the file of an error that workers find', async () => {
    await writeFile(
      join(stack.folder, 'odd.yaml'),
      'pools:\n  odd:\n    labels: {a: {}}\n    providerPools:\n      main: {provider: other, labels: {a: {}}}\n',
    );
    expect(await run('pool', 'apply', 'odd.yaml')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'odd.yaml:5:14: pools.odd.providerPools.main.provider: names provider "other", which the workers do not have',
      ),
    });
  });

  it('shows pools and their labels', async () => {
    await until('a large node is ready', async () =>
      /large +1 +1 +0/.test((await run('pool', 'labels', 'ci')).stdout),
    );
    expect(await run('pool', 'labels', 'ci')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^LABEL +READY +KEPT +BUILDING +IN USE +OTHER +WAITING +SERVED BY\n[^]*small +0 +0[^]*main \(local\)[^]*main +local +100 +1 node[\w, ]* +3 nodes[^]*tenant acme: nothing of 1 node/,
      ),
    });
    expect(await json('pool', 'labels', 'ci')).toMatchObject({
      labels: { large: { minReady: 1, nodes: { ready: 1 } } },
      providerPools: { main: { used: { nodes: 1 } } },
    });
    expect(await json('pool', 'list')).toMatchObject({
      pools: [{ name: 'ci', createdAt: expect.any(String) }],
    });
  });

  it('refuses unknown pools and labels', async () => {
    expect(await run('pool', 'labels', 'other')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('pool other does not exist'),
    });
    expect(await run('request', 'create', 'ci', 'huge')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('pool ci has no label huge; its labels are small, large'),
    });
    expect(await run('request', 'show', 'ci', 'nobody')).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/pool ci has no request nobody[^]*next: heddle request list ci/),
    });
  });

  it('requests nodes, and shows who has them and who waits', async () => {
    expect(await run('request', 'create', 'ci', 'large', '--requester', 'job-1')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /request [0-9a-f-]{36}: fulfilled\nNODE +LABEL +ADDRESS +PORT +USER\nlarge-1 +large +127\.[^]*lease: (\d+ m|1 h)[^]*next: heddle request return ci /,
      ),
    });
    small = idOf(
      await json('request', 'create', 'ci', 'small', '--tenant', 'acme', '--lease', '30m', '--priority', '7'),
    );
    waits = idOf(await json('request', 'create', 'ci', 'small', '--tenant', 'acme', '--no-wait'));
    await until('why the last one waits', async () =>
      (await run('request', 'list', 'ci')).stdout.includes("over its tenant's limit"),
    );
    expect(await run('request', 'list', 'ci')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^REQUEST +STATE +FOR +AGE +LABELS +PRIORITY +REQUESTER +NODES +WHY\n[^]*fulfilled +\d[\w. ]+ +\d[\w. ]+ +large +100 +job-1 +large-1[^]*requested[^]*over its tenant's limit/,
      ),
    });
    expect(await json('request', 'list', 'ci')).toMatchObject({
      requests: [
        { requester: 'job-1' },
        { id: small, priority: 7, tenant: 'acme', createdAt: expect.any(Number) },
        { id: waits, state: 'requested' },
      ],
    });
  });

  it('shows passwords only on demand', async () => {
    expect(JSON.parse((await run('request', 'show', 'ci', small, '--json')).stdout)).toMatchObject({
      nodes: [{ payload: { 'ssh-auth': { password: '(secret)' } } }],
    });
    expect(
      JSON.parse((await run('request', 'show', 'ci', small, '--credentials', '--json')).stdout),
    ).toMatchObject({
      nodes: [{ payload: { 'ssh-auth': { password: expect.not.stringMatching('secret') } } }],
    });
  });

  it('renews a lease, cancels a waiting request, and returns nodes', async () => {
    expect(await run('request', 'renew', 'ci', small)).toMatchObject({
      code: 0,
      stdout: `the lease of ${small} is renewed\n`,
    });
    expect(await run('request', 'renew', 'ci', waits)).toMatchObject({ code: 3 });
    expect(await run('request', 'cancel', 'ci', waits)).toMatchObject({
      code: 0,
      stdout: `request ${waits} is cancelled\n`,
    });
    expect(await run('request', 'return', 'ci', small)).toMatchObject({
      code: 0,
      stdout: `the nodes of ${small} are returned\n`,
    });
    expect(await json('request', 'show', 'ci', small)).toMatchObject({ state: 'returned' });
  });

  it('returns a request when it is interrupted, unless the request is detached', async () => {
    const first = idOf(await json('request', 'create', 'ci', 'small', '--tenant', 'acme'));
    const { folder, namespace } = stack;
    for (const [requester, more, state] of [
      ['held', [], 'cancelled'],
      ['detached', ['--detach'], 'requested'],
    ] as const) {
      const words = ['request', 'create', 'ci', 'small', '--tenant', 'acme', '--requester', requester];
      const waiting = startHeddle([...words, ...more], {
        distPath: inject('distPath'),
        cwd: folder,
        env: {
          HEDDLE_CONFIG: join(folder, 'worker.yaml'),
          TEMPORAL_ADDRESS: inject('temporalAddress'),
          TEMPORAL_NAMESPACE: namespace,
        },
      });
      await until('it waits', () => waiting.stderr().includes('waiting'));
      const id = /request ([0-9a-f-]{36})/.exec(waiting.stderr())?.[1] ?? '';
      waiting.child.kill('SIGINT');
      const { code, stderr } = await waiting.ended;
      if (requester === 'held') {
        expect({ code, stderr }).toEqual({
          code: 130,
          stderr: expect.stringContaining(`stopped waiting; request ${id} is returned`) as string,
        });
        expect(stderr).toContain('Ctrl-C returns it');
      }
      expect(await json('request', 'show', 'ci', id)).toMatchObject({ state });
    }
    await run('request', 'cancel', 'ci', '--requester', 'detached');
    await run('request', 'return', 'ci', first);
  });

  it('requests many at once, reports each, and returns all of them', async () => {
    const many = await run('request', 'create', 'ci', 'small', '--count', '2', '--requester', 'batch-1');
    expect(many).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^REQUEST +NODE +LABEL +ADDRESS +PORT +USER\n[0-9a-f-]{36} +small-\d+ +small +127\.[^\n]*\n[0-9a-f-]{36} +small-\d+ +small[^\n]*\n2 requests: 2 fulfilled\nlease: [^\n]*left\nnext: heddle request return ci --requester batch-1\n$/,
      ),
    });
    expect(await run('request', 'renew', 'ci', '--requester', 'batch-1')).toMatchObject({
      code: 0,
      stdout: 'the leases of 2 requests are renewed\n',
    });
    expect(await run('request', 'return', 'ci', '--requester', 'batch-1')).toMatchObject({
      code: 0,
      stdout: 'the nodes of 2 requests are returned\n',
    });
    expect(await run('request', 'return', 'ci', '--requester', 'batch-1')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('pool ci has no open request of batch-1'),
    });
  });

  it('ends several requests by their ids, all of them or none', async () => {
    const asked = (await json('request', 'create', 'ci', 'small', '--count', '2', '--no-wait')) as {
      readonly requests: readonly { readonly id: string }[];
    };
    expect(asked).toMatchObject({ pool: 'ci', requests: [{ labels: ['small'] }, { labels: ['small'] }] });
    const [first = '', second = ''] = asked.requests.map(({ id }) => id);
    expect(await run('request', 'cancel', 'ci', first, 'nobody')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('pool ci has no request nobody'),
    });
    expect(await json('request', 'show', 'ci', first)).toMatchObject({
      state: expect.not.stringMatching('cancelled'),
    });
    expect(await json('request', 'cancel', 'ci', first, second)).toEqual({
      schemaVersion: 1,
      pool: 'ci',
      ids: [first, second],
      ended: 'cancel',
    });
  });

  it('accepts all of many requests or none, and reports which of them failed and why', async () => {
    expect(await run('request', 'create', 'ci', 'huge', '--count', '2')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('pool ci has no label huge'),
    });
    expect(await run('request', 'create', 'ci', 'small', '--count', '0')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a whole number from 1 to 5000'),
    });
    expect(await run('request', 'return', 'ci')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('either ids of requests or --requester NAME'),
    });
    const tooLarge = await run(
      'request',
      'create',
      'ci',
      ...Array.from({ length: 4 }, () => 'small'),
      '--count',
      '2',
      '--requester',
      'batch-3',
    );
    expect(tooLarge).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^REQUEST +STATE +WHY\n([0-9a-f-]{36} +failed +main: [^\n]+\n){2}2 requests: 2 failed\n$/,
      ),
    });
    expect(await run('request', 'cancel', 'ci', '--requester', 'batch-3')).toMatchObject({ code: 0 });
  });

  it('holds a node, prints all state, and deletes', async () => {
    expect(await run('pool', 'hold', 'ci', 'large-1', '-m', 'it hangs', '--for', '2h')).toMatchObject({
      code: 0,
      stdout: 'large-1 is held\n',
    });
    expect(await run('pool', 'nodes', 'ci')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^NODE +LABEL +PROVIDER POOL +STATE +FOR +AGE +ADDRESS +REQUESTER +WHY\n[^]*large-1 +large +main +hold +\d[\w. ]+ +\d[\w. ]+ +127\.[^]*it hangs \(.*, (2 h|1 h \d+ m).* left\)/,
      ),
    });
    expect(await json('pool', 'nodes', 'ci')).toMatchObject({
      nodes: expect.arrayContaining([
        expect.objectContaining({ id: 'large-1', state: 'hold', createdAt: expect.any(Number) }),
      ]),
    });
    expect(await run('pool', 'hold', 'ci', 'large-1', '--end')).toMatchObject({
      code: 0,
      stdout: 'the hold of large-1 has ended\n',
    });
    const dump = await run('pool', 'dump');
    expect(JSON.parse(dump.stdout)).toMatchObject({
      pools: [
        {
          name: 'ci',
          spec: { tenants: { acme: { nodes: 1 } } },
          nodes: expect.any(Array),
          requests: expect.any(Array),
        },
      ],
    });
    expect(dump.stdout.replaceAll('"password": "(secret)"', '')).not.toContain('password');
  });

  it('publishes metrics of labels and providers on the port of the worker', async () => {
    const place = ['pool="ci"', 'provider_pool="main"', 'provider="local"'];
    // The pool tells its figures a little after it has changed.
    const told = (name: string, value: RegExp, ...tags: readonly string[]): Promise<unknown> =>
      until(`${name} of ${tags.join(', ')} is ${value.source}`, async () =>
        (await scrape())
          .split('\n')
          .some(
            (line) =>
              line.startsWith(`${name}{`) && tags.every((tag) => line.includes(tag)) && value.test(line),
          ),
      );
    await told('heddle_pool_nodes', / 1$/, 'label="large"', 'state="ready"');
    await told('heddle_pool_launches_total', / [3-9]$/, ...place, 'label="small"', 'result="ready"');
    await told('heddle_pool_launch_duration_seconds_count', / [1-9]$/, ...place, 'label="large"');
    await told('heddle_pool_request_duration_seconds_count', / [3-9]$/, ...place, 'label="small"');
    await told('heddle_pool_limit', / 3$/, ...place, 'of="nodes"');
    await told('heddle_pool_used', / \d$/, ...place, 'of="nodes"');
    await told('heddle_pool_paused', / 0$/, ...place);
    await told('heddle_pool_requests', / 0$/, 'state="requested"');
    await told('heddle_pool_waiting', / 0$/, 'label="small"');
    await told('heddle_pool_tenant_waiting', / 0$/, 'tenant="acme"');
    await told('heddle_pool_tenant_nodes', / \d$/, 'tenant=""');
    await told('heddle_pool_published_timestamp_seconds', / 1\d{9}$/, 'pool="ci"');
    await told('heddle_pool_tenant_oldest_request_timestamp_seconds', / 0$/, 'tenant="acme"');
    await told('heddle_build_info', / 1$/, 'site="default"');
    await told('heddle_clusters', / 0$/, 'phase="held"');
    await told('heddle_workflows_stuck', / 0$/, 'cause="none"');
    await told('heddle_observation_timestamp_seconds', / 1\d{9}$/, 'of="sweep"');
    await told('heddle_disk_free_bytes', / [1-9]/, 'folder="data"');
    await told('heddle_task_attempts_total', / [1-9]/, 'action="CREATE', 'result="done"');
    await told('heddle_provider_calls_total', / [1-9]/, 'account="local"', 'result="done"');
    await told('heddle_drift_observations_total', / \d/, 'drift="gone"');
    expect(await scrape()).toMatch(/^heddle_key_misses_total 0$/m);
    expect(await scrape()).toMatch(/^temporal_num_pollers/m);
    expect(lintMetrics(await scrape())).toEqual([]);
  });

  it('has buckets for machines and tasks that take minutes and hours', async () => {
    const bounds = async (name: string): Promise<readonly number[]> => {
      const lines = (await scrape()).split('\n').filter((line) => line.startsWith(`${name}_bucket{`));
      return [...new Set(lines.map((line) => Number(/le="([\d.e+]+)"/.exec(line)?.[1] ?? Infinity)))];
    };
    for (const name of [
      'heddle_pool_launch_duration_seconds',
      'heddle_pool_request_duration_seconds',
      'temporal_activity_execution_latency_seconds',
      'temporal_activity_succeed_endtoend_latency_seconds',
    ])
      expect({ name, bounds: await bounds(name) }).toMatchObject({
        bounds: expect.arrayContaining([60, 300, 600, 1_800, 3_600]) as number[],
      });
  });

  it('lists failures of the last day', async () => {
    expect(await run('pool', 'failures')).toMatchObject({
      code: 0,
      stdout: 'nothing failed in the last day\n',
    });
    await stack.service.arm({ fault: 'no-capacity', operation: 'create' });
    const { nodes } = (await json('pool', 'nodes', 'ci', '--label', 'large', '--state', 'ready')) as {
      readonly nodes: readonly { readonly id: string }[];
    };
    await json('pool', 'delete', 'ci', ...nodes.map(({ id }) => id));
    await until('the launch of another one has failed', async () =>
      (await run('pool', 'failures', 'ci')).stdout.includes('Capacity'),
    );
    expect(await run('pool', 'failures')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^POOL +LAST +TIMES +WHAT +LABEL +PROVIDER POOL +NODE +WHY\nci +\d[\w. ]* ago +1 +launch: Capacity +large +main +large-\d+ +\S[^\n]*\n$/,
      ),
    });
    expect(await json('pool', 'failures', 'ci')).toMatchObject({
      pools: [{ pool: 'ci', failures: [{ stage: 'launch', kind: 'Capacity', times: 1, label: 'large' }] }],
    });
  });

  it('deletes nodes, and the pool', async () => {
    const ready = await until('a node is ready', async () => {
      const { nodes } = (await json('pool', 'nodes', 'ci')) as {
        readonly nodes: readonly { readonly id: string; readonly state: string }[];
      };
      return nodes.find(({ state }) => state === 'ready')?.id;
    });
    expect(await run('pool', 'delete', 'ci', ready)).toMatchObject({
      code: 0,
      stdout: `being deleted: ${ready}\n`,
    });
    expect(await run('pool', 'delete', 'ci', 'nobody')).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/pool ci has no node nobody[^]*next: heddle pool nodes ci/),
    });
    const taken = await run('request', 'create', 'ci', 'small', '--requester', 'the night build');
    expect(taken).toMatchObject({ code: 0 });
    // Without a terminal the error repeats the question.
    expect(await run('pool', 'delete', 'ci')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /Delete pool ci and its \d+ nodes, \d of which in use \(.*the night build.*\)\?/,
      ),
    });
    expect(await run('pool', 'delete', 'ci', '--yes')).toMatchObject({
      code: 0,
      stdout: 'pool ci is deleted\n',
    });
    expect(await stack.service.machines()).toEqual([]);
  });

  it('runs a worker without metrics if its port is in use', async () => {
    const second = await stack.startWorker('second');
    expect(second.output()).toContain('metrics cannot be served there');
    expect(worker.output()).not.toContain('metrics cannot be served there');
    await second.stop();
  });
});
