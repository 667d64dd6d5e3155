import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

/** Two pools on two provider accounts. */
describe('heddle pool and heddle request, over all pools', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ accounts: { other: 'service' } });
    await stack.startWorker();
    const offer = { hardware: 'tiny', image: 'host' };
    const poolOn = (provider: string, label: string): object => ({
      labels: { [label]: {} },
      providerPools: { main: { provider, limits: { nodes: 1 }, labels: { [label]: offer } } },
    });
    await writeFile(
      join(stack.folder, 'pools.yaml'),
      stringify({ pools: { ci: poolOn('local', 'small'), lab: poolOn('other', 'bench') } }),
    );
  });

  const { run, json } = heddleOn(() => stack);

  it('lists nodes and requests of all pools, and those of an account, a state or a label', async () => {
    await json('pool', 'apply', 'pools.yaml');
    await json('request', 'create', 'ci', 'small', '--requester', 'job-1');
    await json('request', 'create', 'ci', 'small', '--requester', 'job-2', '--no-wait');
    await json('request', 'create', 'lab', 'bench', '--requester', 'job-3');
    expect(await run('pool', 'nodes')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^POOL +NODE +LABEL +PROVIDER POOL[^]*\nci +small-1 +small +main[^]*\nlab +bench-1 +bench +main/,
      ),
    });
    expect(await json('pool', 'nodes', '--provider', 'other')).toMatchObject({
      nodes: [{ pool: 'lab', id: 'bench-1', provider: 'other' }],
      silent: [],
    });
    expect(await json('pool', 'nodes', 'ci', '--label', 'small', '--state', 'in-use')).toMatchObject({
      pool: 'ci',
      nodes: [{ id: 'small-1' }],
    });
    expect(await run('pool', 'nodes', 'lab', '--state', 'failed')).toMatchObject({ stdout: 'no nodes\n' });
    expect(await run('request', 'list')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^POOL +REQUEST +STATE[^]*\nci +[0-9a-f-]{36} +fulfilled[^]*\nlab +[0-9a-f-]{36} +fulfilled/,
      ),
    });
    expect(await json('request', 'list', '--provider', 'other')).toMatchObject({
      requests: [{ pool: 'lab', requester: 'job-3' }],
    });
    expect(await json('request', 'list', '--provider', 'local', '--state', 'requested')).toMatchObject({
      requests: [{ pool: 'ci', requester: 'job-2' }],
    });
  });

  it('shows which tenants wait, and for what', async () => {
    await json('request', 'create', 'lab', 'bench', '--tenant', 'acme', '--no-wait');
    await json('request', 'create', 'lab', 'bench', '--tenant', 'beta', '--no-wait');
    expect(await json('pool', 'waiting', 'lab')).toMatchObject({
      pools: [
        {
          pool: 'lab',
          tenants: [
            { tenant: 'acme', waiting: 1, nodes: 0, weight: 1, share: 0 },
            {
              tenant: 'beta',
              reasons: [{ why: 'provider pool main: requests of tenant acme come first', requests: 1 }],
            },
          ],
        },
      ],
      silent: [],
    });
    const { stdout } = await run('pool', 'waiting');
    expect(stdout).toMatch(/^POOL +TENANT +WAITING +OLDEST +NODES +WEIGHT +SHARE +FAIR SHARE +WAITS FOR\n/);
    expect(stdout).toMatch(
      /\nci +- +1 .* 100% +100% +provider pool main: 1 node over its limit of \d+ nodes?\n/,
    );
    expect(stdout).toMatch(
      /\nlab +acme +1 .* 0 +1 +0% +33% +provider pool main: 1 node over its limit of 1 node\n/,
    );
    const { requests } = (await json('request', 'list', 'lab', '--state', 'requested')) as {
      readonly requests: readonly { readonly id: string }[];
    };
    await json('request', 'cancel', 'lab', ...requests.map(({ id }) => id));
    expect(await run('pool', 'waiting', 'lab')).toMatchObject({ stdout: 'no request waits\n' });
  });

  it('changes the priority of a waiting request, and refuses it for one with nodes', async () => {
    const { requests } = (await json('request', 'list', 'ci')) as {
      readonly requests: readonly { readonly id: string; readonly requester: string }[];
    };
    const idOf = (name: string): string => requests.find(({ requester }) => requester === name)?.id ?? '';
    await json('request', 'create', 'ci', 'small', '--requester', 'job-4', '--no-wait');
    const { requests: now } = (await json('request', 'list', 'ci')) as { readonly requests: typeof requests };
    const last = now.find(({ requester }) => requester === 'job-4')?.id ?? '';
    expect(await run('request', 'priority', 'ci', last, '7')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: `request ${last} has priority 7\n`,
    });
    expect(await run('request', 'priority', 'ci', idOf('job-1'), '7')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`request ${idOf('job-1')} is fulfilled`),
    });
    expect(await run('request', 'priority', 'ci', 'nobody', '7')).toMatchObject({ code: 4 });
    await json('request', 'return', 'ci', idOf('job-1'));
    await until('the last one is served first', async () =>
      (await run('request', 'show', 'ci', last)).stdout.includes('fulfilled'),
    );
    expect(await json('request', 'show', 'ci', idOf('job-2'))).toMatchObject({ state: 'requested' });
  });

  it('applies the pools of a file at once, and reports each that is refused with its place', async () => {
    await writeFile(
      join(stack.folder, 'some.yaml'),
      `pools:
  fine: {labels: {a: {}}, providerPools: {main: {provider: local, labels: {a: {hardware: tiny, image: host}}}}}
  odd: {labels: {a: {}}, providerPools: {main: {provider: absent, labels: {a: {}}}}}
  strange: {labels: {a: {}}, providerPools: {main: {provider: missing, labels: {a: {}}}}}
`,
    );
    expect(await run('pool', 'apply', 'some.yaml')).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/^POOL +RESULT\nfine +configured\nodd +failed\nstrange +failed\n$/),
      stderr: expect.stringMatching(
        /some\.yaml:3:\d+: pools\.odd\.providerPools\.main\.provider: names provider "absent"[^]*some\.yaml:4:\d+: pools\.strange\.providerPools\.main\.provider: names provider "missing"/,
      ),
    });
    expect(JSON.parse((await run('pool', 'apply', 'some.yaml', '--json')).stdout)).toMatchObject({
      pools: [{ name: 'fine', unchanged: true }],
      error: { code: 'Invalid' },
    });
  });

  it('erases an account: its nodes in all pools are deleted, after confirmation, and no others', async () => {
    expect(await run('pool', 'erase', 'absent')).toMatchObject({ code: 4 });
    // A node in use stays unless it is asked for.
    expect(await run('pool', 'erase', 'other', '--yes')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        /1 node in use or held \(job-3\) stays; --in-use deletes it too[^]*next: heddle pool erase other --in-use/,
      ),
    });
    expect(await run('pool', 'erase', 'other', '--in-use')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'Delete 1 node of account other, 1 of which in use (job-3): pool lab: bench-1?',
      ),
    });
    expect(await json('pool', 'erase', 'other', '--in-use', '--yes')).toMatchObject({
      account: 'other',
      erased: [{ pool: 'lab', nodes: ['bench-1'] }],
      silent: [],
    });
    await until('its node is gone', async () =>
      (await run('pool', 'nodes', '--provider', 'other')).stdout.startsWith('no nodes'),
    );
    expect((await run('pool', 'nodes', '--provider', 'local')).stdout).toContain('small-');
  });

  it('exports a pool to a file without clear secrets; nothing changes it there', async () => {
    const { nodes } = await json('request', 'create', 'lab', 'bench', '--requester', 'job-9');
    expect(await run('pool', 'export', 'lab')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Export pool lab? It stops here') as string,
    });
    expect(await run('pool', 'delete', 'lab', '--abandon', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--abandon requires the names of the nodes') as string,
    });
    const { code, stdout, stderr } = await run('pool', 'export', 'lab', '--yes');
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        'pool lab is exported with 1 node and 2 requests, and stopped',
      ) as string,
    });
    const [node] = nodes as readonly { readonly hostname: string }[];
    expect(stdout).not.toContain(node?.hostname);
    await writeFile(join(stack.folder, 'lab.json'), stdout);

    // The others are erased nevertheless.
    await json('request', 'create', 'ci', 'small', '--requester', 'job-10', '--no-wait');
    await until('ci has a node', async () => (await run('pool', 'nodes', 'ci')).stdout.includes('small-'));
    await writeFile(
      join(stack.folder, 'second.yaml'),
      stringify({
        pools: {
          second: {
            labels: { bench: { minReady: 1 } },
            providerPools: {
              main: { provider: 'other', labels: { bench: { hardware: 'tiny', image: 'host' } } },
            },
          },
        },
      }),
    );
    await json('pool', 'apply', 'second.yaml');
    await until('it has a node', async () =>
      (await run('pool', 'nodes', 'second')).stdout.includes('bench-1'),
    );
    expect(await run('pool', 'erase', 'other', '--in-use', '--yes')).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/\nsecond +bench-1/) as string,
      stderr: expect.stringMatching(/error\[Refused\]: pool lab: .*was exported by/) as string,
    });

    expect(await run('pool', 'restore', 'lab.json')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('pool lab already exists') as string,
    });
    expect(await run('pool', 'delete', 'lab', '--yes')).toMatchObject({ code: 3 });
    await stack.client.temporal.workflow.getHandle('pool/lab').terminate('as if in another namespace');
    expect(await run('pool', 'restore', 'lab.json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('pool lab is restored with 1 node and 2 requests') as string,
    });
    expect((await run('pool', 'restore', 'lab.json')).stdout).toContain('pool lab was already restored');
    await json('pool', 'delete', 'lab', '--yes');
    await json('pool', 'delete', 'second', '--yes');
    expect((await run('pool', 'nodes', '--provider', 'other')).stdout).toMatch(/^no nodes/);
  });

  it('refuses a file that holds no records, or was altered', async () => {
    const file = join(stack.folder, 'wrong.json');
    for (const [content, why] of [
      ['[', 'it is not JSON'],
      ['{}', 'it has no records'],
      ['{"records": "x"}', 'not text that Heddle encrypted'],
    ] as const) {
      await writeFile(file, content);
      expect(await run('pool', 'restore', file)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(why) as string,
      });
    }
  });
});
