import { beforeAll, describe, expect, it } from 'vitest';
import type { SweepReport } from '../../src/client/index.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { newFolder } from '../harness/folder.js';

describe('the sweep', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  let installation: string;
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    stack = await startStack({
      config: {
        sweep: { every: '1h', minimumAge: '1ms', cap: 2, delete: true },
        scale: { inlineNodes: 2, groupNodes: 2 },
      },
    });
    await stack.startWorker();
    const { namespaceInfo } = await stack.client.temporal.workflowService.describeNamespace({
      namespace: stack.namespace,
    });
    installation = namespaceInfo?.id ?? '';
  });

  const spec = (name: string, count: number, actions: object = {}): ClusterSpec =>
    closed({
      name,
      nodes: { app: nodes(count, ['app']) },
      services: { app: { actions: { start: ledger.script(), ...actions } } },
    });
  const handle = (name: string) => stack.client.temporal.workflow.getHandle(`cluster/${name}`);

  async function up(name: string, count: number): Promise<readonly string[]> {
    const { operation } = await stack.client.apply(spec(name, count));
    const end = await stack.client.waitFor(name, operation, { everyMs: 100 });
    expect(end.operation.state).toBe('done');
    return end.status.nodes.flatMap(({ providerid }) => providerid ?? []);
  }

  async function alive(): Promise<readonly string[]> {
    return (await stack.service.machines())
      .filter(({ state }) => state !== 'gone' && state !== 'deleting')
      .map(({ id }) => String(id));
  }

  /** A machine that somebody made at the provider, with these tags. */
  async function plant(key: string, tags: Readonly<Record<string, string>>): Promise<string> {
    const { id } = (await stack.service.call('POST', '/v1/machines', {
      key,
      token: `token-of-${key}`,
      hostname: 'planted',
      flavor: 'small',
      image: 'host',
      tags: { ...tags },
    })) as { readonly id: string };
    return id;
  }
  const ourTags = (key: string, cluster: string): Readonly<Record<string, string>> => ({
    'heddle-installation': installation,
    'heddle-key': key,
    'heddle-cluster': cluster,
  });
  const shown = ({ leaks }: SweepReport, id: string) => leaks.find(({ providerid }) => providerid === id);

  it('deletes machines without a cluster after two passes, a few at a time, and nothing else', async () => {
    const { client, service } = stack;
    const kept = await up('kept', 4);
    // In the middle of a create: the machine is made, and the answer is on its way.
    const fault = await service.arm({ fault: 'hold-answer', operation: 'create', hostname: 'midway-app-1' });
    await client.apply(spec('midway', 1));
    await until('the create is held', async () => (await service.held(fault)) === 1);
    await handle('midway').terminate('by hand');
    await service.release(fault);
    const midway = await until(
      'the machine of the cut create',
      async () => (await service.machines()).find(({ hostname }) => hostname === 'midway-app-1')?.['id'],
    );
    const doomed = await up('doomed', 2);
    await handle('doomed').terminate('by hand');
    const foreign = await plant('x/app-1/1', {
      'heddle-installation': 'another',
      'heddle-key': 'x/app-1/1',
      'heddle-cluster': 'doomed',
    });
    const bare = await plant('y/app-1/1', {});
    const noKey = await plant('z', { 'heddle-installation': installation, 'heddle-key': 'not a key' });
    const { uid } = await client.summary('kept');
    const older = await plant(`${uid}/app-9/1`, ourTags(`${uid}/app-9/1`, 'kept'));
    const ahead = await plant(`${uid}/app-1/77`, ourTags(`${uid}/app-1/77`, 'kept'));
    const inGroup = await plant(`${uid}/app-4/78`, ourTags(`${uid}/app-4/78`, 'kept'));

    const first = await client.sweep();
    expect(first.deleted).toEqual([]);
    expect(first.refused).toEqual([expect.stringMatching(/^2 machines .* no record of them \(kept\)/)]);
    expect(shown(first, doomed[0] ?? '')).toMatchObject({
      kind: 'orphan',
      cluster: 'doomed',
      passes: 1,
      account: 'local',
    });
    expect(shown(first, String(midway))).toMatchObject({ kind: 'orphan', cluster: 'midway' });
    expect(shown(first, older)).toMatchObject({ kind: 'lost', askedOf: 'cluster/kept' });
    expect(shown(first, ahead)).toMatchObject({ kind: 'unknown', askedOf: 'cluster/kept' });
    expect(shown(first, inGroup)).toMatchObject({ kind: 'unknown', askedOf: 'cluster/kept/group/1' });
    expect(shown(first, noKey)).toMatchObject({ kind: 'unreadable' });
    expect(first.leaks).toHaveLength(7);

    const named = await client.deleteLeaks([ahead, inGroup]);
    expect(named.deleted).toHaveLength(2);
    const second = await client.sweep();
    expect(second.deleted).toHaveLength(2);
    const third = await client.sweep();
    expect(third.deleted).toHaveLength(2);
    expect(third.leaks.map(({ providerid }) => providerid)).toEqual([noKey]);
    expect((await alive()).toSorted()).toEqual([...kept, foreign, bare, noKey].toSorted());
    expect([...named.deleted, ...second.deleted, ...third.deleted].map(({ failed }) => failed)).toEqual(
      Array.from({ length: 6 }, () => undefined),
    );
    // What was given free is never made again: the next machine of the cluster has a later incarnation.
    const { operation } = await client.operate('kept', { kind: 'replace', nodes: ['app-1'] });
    const end = await client.waitFor('kept', operation, { everyMs: 100 });
    expect(end.status.nodes.find(({ nodeId }) => nodeId === 'app-1')?.incarnation).toBeGreaterThan(77);
    expect(ahead).not.toBe(older);
    const view = await client.leaks();
    expect(view.report?.leaks.map(({ providerid }) => providerid)).toEqual([noKey]);
  });
});
