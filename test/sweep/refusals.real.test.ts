import { WithStartWorkflowOperation } from '@temporalio/client';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { SweepReport } from '../../src/client/index.js';
import { claimsWorkflowId, claimsWorkflowType, workflowQueue } from '../../src/model/names.js';
import type { Settings } from '../../src/schema/config.js';
import { keepSweepSchedule } from '../../src/server/schedules.js';
import { claimsMessages } from '../../src/workflows/messages.js';
import { runHeddle, type Ended } from '../harness/cli/run-heddle.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';

const dry = { every: 3_600, minimumAge: 0.001, cap: 5, delete: false };
const wet = { ...dry, delete: true };

describe('the sweep', () => {
  let stack: Stack;
  let installation: string;
  beforeAll(async () => {
    stack = await startStack({
      accounts: {
        rack: {
          type: 'static',
          fields: { machines: [{ name: 'r1', address: '127.0.0.1', port: 2, password: 'x' }] },
        },
      },
      config: { sweep: { every: '1h', minimumAge: '1ms' } },
    });
    await stack.startWorker();
    const { namespaceInfo } = await stack.client.temporal.workflowService.describeNamespace({
      namespace: stack.namespace,
    });
    installation = namespaceInfo?.id ?? '';
  });

  async function plant(key: string, cluster: string, fault?: object): Promise<string> {
    if (fault !== undefined) await stack.service.arm({ ...fault, hostname: cluster });
    const tags = { 'heddle-installation': installation, 'heddle-key': key, 'heddle-cluster': cluster };
    const { id } = (await stack.service.call('POST', '/v1/machines', {
      key,
      token: `token-of-${key}`,
      hostname: cluster,
      flavor: 'small',
      image: 'host',
      tags,
    })) as { readonly id: string };
    return id;
  }
  const ids = ({ leaks }: SweepReport): readonly string[] => leaks.map(({ providerid }) => providerid);
  const alive = async (id: string): Promise<boolean> =>
    (await stack.service.machines()).some((machine) => machine['id'] === id);
  const policy = async (settings: Settings['sweep']): Promise<void> => {
    expect(
      await Promise.all([1, 2, 3].map(() => keepSweepSchedule(stack.client.temporal, settings))),
    ).toEqual([undefined, undefined, undefined]);
  };
  const heddle = (...words: readonly string[]): Promise<Ended> =>
    runHeddle(words, {
      distPath: inject('distPath'),
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });

  it('goes from a lost record over a dry run to deletion; a cluster that cannot be read keeps only its own', async () => {
    const { client } = stack;
    const { temporal } = client;
    await policy(wet);
    expect((await client.leaks()).schedule.policy.delete).toBe(true);

    // The server has lost the record of this cluster, and the machine is there.
    const one = await plant('u1/app-1/1', 'nowhere');
    await client.sweep();
    const lost = await client.sweep();
    expect(lost.deleted).toEqual([]);
    expect(lost.refused).toEqual([expect.stringMatching(/^1 machine .*no record of them \(nowhere\)/)]);
    expect(ids(lost)).toEqual([one]);

    // Dry: shown, and deleted by name alone.
    await policy(dry);
    const shown = await heddle('leaks', '--sweep');
    expect(shown).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`${one} .*unknown.*no record of it; deleted only by name`)),
    });
    expect(await alive(one)).toBe(true);
    const unasked = await heddle('leaks', '--delete', one);
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes') });
    const named = await heddle('leaks', '--delete', one, '--yes');
    expect(named).toMatchObject({ code: 0, stdout: `deleted ${one}\n` });
    expect(await heddle('leaks', '--delete', one, '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`did not find ${one}`),
    });

    // A cluster that was terminated is on record; so is one that nobody can read.
    const start = (name: string, uid: string): Promise<unknown> =>
      temporal.workflow.start('cluster', {
        workflowId: `cluster/${name}`,
        taskQueue: workflowQueue,
        args: [{ carried: { name, uid } }],
        memo: { heddleUid: uid },
      });
    await start('cut', 'u0');
    await temporal.workflow.getHandle('cluster/cut').terminate();
    await start('stuck', 'u2');
    const orphan = await plant('u0/app-1/1', 'cut');
    const held = await plant('u2/app-1/1', 'stuck');
    // Looks of the same second share one list.
    await pause(1_000);
    await policy(wet);
    await client.sweep();
    const stuck = await client.sweep();
    expect(stuck).toMatchObject({
      deleted: [{ providerid: orphan }],
      refused: [],
      silent: [expect.stringContaining('the machines of cluster stuck could not be read')],
    });
    expect([await alive(orphan), await alive(held)]).toEqual([false, true]);
    const text = await heddle('leaks');
    expect(text.stdout).toContain('skipped: the machines of cluster stuck could not be read');
    await temporal.workflow.getHandle('cluster/stuck').terminate();

    // A machine that carries no tags: its claim is freed, and nothing on it is touched.
    await temporal.workflow.executeUpdateWithStart(claimsMessages.updates.claim, {
      args: [{ take: [{ key: 'gone/app-1/1', candidates: 0 }], candidates: [['r1']], release: [] }],
      startWorkflowOperation: new WithStartWorkflowOperation(claimsWorkflowType, {
        workflowId: claimsWorkflowId('rack'),
        taskQueue: workflowQueue,
        args: [],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    });
    const claims = temporal.workflow.getHandle(claimsWorkflowId('rack'));
    // One that is shown late, as late as it pleases.
    const late = await plant('u0/app-9/1', 'cut', { fault: 'list-lag', ms: 2_000 });
    await policy(wet);
    const begin = await client.sweep();
    expect(begin.leaks.find(({ providerid }) => providerid === 'r1')).toMatchObject({
      kind: 'orphan',
      account: 'rack',
      passes: 1,
    });
    await until('the claim is free and both machines are gone', async () => {
      await client.sweep();
      return (
        !(await alive(late)) &&
        !(await alive(held)) &&
        Object.keys(await claims.query(claimsMessages.queries.held)).length === 0
      );
    });
  });

  it('deletes at no provider if it cannot read one', async () => {
    const { client } = stack;
    const other = await startStack({
      accounts: { dark: { type: 'local', fields: { endpoint: 'http://127.0.0.1:9', apiKey: 'none' } } },
      config: { sweep: { every: '1h', minimumAge: '1ms', delete: true } },
    });
    try {
      await other.startWorker();
      const { namespaceInfo } = await other.client.temporal.workflowService.describeNamespace({
        namespace: other.namespace,
      });
      const tags = {
        'heddle-installation': namespaceInfo?.id ?? '',
        'heddle-key': 'u/app-1/1',
        'heddle-cluster': 'ended',
      };
      await other.client.temporal.workflow.start('cluster', {
        workflowId: 'cluster/ended',
        taskQueue: workflowQueue,
        args: [{ heddle: { uid: 'u' } }],
        memo: { heddleUid: 'u' },
      });
      await other.client.temporal.workflow.getHandle('cluster/ended').terminate();
      await other.service.call('POST', '/v1/machines', {
        key: 'u/app-1/1',
        token: 'token-of-u',
        hostname: 'ended',
        flavor: 'small',
        image: 'host',
        tags,
      });
      await other.client.sweep();
      const second = await other.client.sweep();
      expect(second).toMatchObject({
        deleted: [],
        refused: [expect.stringContaining('the machines of provider dark could not be read')],
        leaks: [{ passes: 2, kind: 'orphan' }],
      });
      expect(await other.service.machines()).toHaveLength(1);
    } finally {
      await other.stop();
    }
    expect(client).not.toBe(other.client);
  });
});
