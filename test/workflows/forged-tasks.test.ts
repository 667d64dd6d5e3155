import type { ProtoFailure } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { WaitResult } from '../../src/client/wait.js';
import { lagCloud, writeLagCloud } from '../harness/chaos/lag-cloud.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ledger, onceEach, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

describe('a caller of the server without keys who reports that a running task failed', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    const accounts: Record<string, object> = {};
    stack = await startStack({ config: { plugins: [await writeLagCloud(folder, ['patient'])] }, accounts });
    const { endpoint, apiKeyFile } = stack.service;
    accounts['patient'] = { type: 'patient', fields: { endpoint, apiKey: { secret: `file:${apiKeyFile}` } } };
    await stack.startWorker();
  });

  /** Applies a cluster of one node whose INSTALL waits for its gate. The action permits three runs. */
  async function apply(name: string, provider = 'local'): Promise<string> {
    const install = ledger.script({ gate: name, action: { attempts: 3 } });
    const spec = closed({
      name,
      nodes: { app: nodes(1, ['app'], { provider }) },
      services: { app: { actions: { install } } },
    });
    return (await stack.client.apply(spec)).operation;
  }

  const waitFor = (name: string, operation: string): Promise<WaitResult> =>
    stack.client.waitFor(name, operation, { everyMs: 100 });

  const installed = (name: string): readonly string[] => onceEach(`${name} app-1 app`, ['INSTALL']);

  async function attemptOf(name: string, action: string): Promise<{ activityId: string; attempt: number }> {
    const { raw } = await stack.client.temporal.workflow.getHandle(`cluster/${name}`).describe();
    const { activityId, attempt } =
      raw.pendingActivities?.find(({ activityType }) => activityType?.name === action) ?? {};
    return { activityId: activityId ?? '', attempt: attempt ?? 0 };
  }

  const fail = (name: string, action: string, type: string, nonRetryable: boolean): Promise<void> =>
    report(name, action, { applicationFailureInfo: { type, nonRetryable } });

  async function report(name: string, action: string, failure: ProtoFailure): Promise<void> {
    const { activityId } = await attemptOf(name, action);
    await stack.client.temporal.workflowService.respondActivityTaskFailedById({
      namespace: stack.namespace,
      workflowId: `cluster/${name}`,
      activityId,
      failure: { message: 'no', ...failure },
    });
  }

  // Promise: scripts-not-repeated
  it.concurrent('starts no second run of a script: the operation is held, and a retry attaches', async () => {
    const operation = await apply('script');
    await ledger.written('script app-1 app INSTALL begin');
    await fail('script', 'INSTALL', 'ScriptFailed', true);
    const held = await waitFor('script', operation);
    expect(held.operation.state).toBe('held');
    expect(held.status.nodes).toMatchObject([{ failure: { kind: 'UnknownOutcome', action: 'INSTALL' } }]);
    await stack.client.retry('script');
    await until('the retry attached', async () => (await attemptOf('script', 'INSTALL')).attempt === 1);
    await ledger.open('script');
    expect((await waitFor('script', operation)).operation.state).toBe('done');
    expect(await ledger.lines('script ')).toEqual(installed('script'));
  });

  it.concurrent('starts no second run of a script by failures that are tried again: the next attempt attaches', async () => {
    const operation = await apply('again');
    await ledger.written('again app-1 app INSTALL begin');
    for (const attempt of [1, 2, 3]) {
      await until(
        `attempt ${attempt}`,
        async () => (await attemptOf('again', 'INSTALL')).attempt === attempt,
      );
      await until('it has begun', () =>
        fail('again', 'INSTALL', 'ScriptFailed', false).then(
          () => true,
          () => false,
        ),
      );
    }
    await until('attempt 4', async () => (await attemptOf('again', 'INSTALL')).attempt === 4);
    await ledger.open('again');
    expect((await waitFor('again', operation)).operation.state).toBe('done');
    expect(await ledger.lines('again ')).toEqual(installed('again'));
  });

  // The provider local gets a token with CREATE; patient has only lists, which lag behind.
  const timeoutType = temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE;
  const failureOf = (type: string): ProtoFailure =>
    type === 'Timeout'
      ? { timeoutFailureInfo: { timeoutType } }
      : { applicationFailureInfo: { type, nonRetryable: true } };
  const providers = [
    ['Capacity', 'local'],
    ['Quota', 'patient'],
    ['Retryable', 'patient'],
    ['Timeout', 'local'],
  ] as const;

  for (const [type, provider] of providers)
    // Promise: machines-not-leaked
    it.concurrent(`leaks no machine by the failure ${type} of CREATE at provider ${provider}`, async () => {
      const name = type.toLowerCase();
      await ledger.open(name);
      const hostname = `${name}-app-1`;
      const machines = async (): Promise<readonly unknown[]> =>
        (await stack.service.machines()).filter((machine) => machine['hostname'] === hostname);
      await stack.service.arm({ fault: 'list-lag', ms: lagCloud.lagMs, hostname, count: 2 });
      const fault = await stack.service.arm({ fault: 'hold-answer', operation: 'create', hostname });
      const operation = await apply(name, provider);
      await until('CREATE is accepted', async () => (await stack.service.held(fault)) === 1);
      await report(name, 'CREATE', failureOf(type));
      const held = await waitFor(name, operation);
      expect(held.operation.state).toBe('held');
      expect(held.status.nodes).toMatchObject([
        { incarnation: 1, failure: { kind: 'UnknownOutcome', action: 'CREATE' } },
      ]);
      await stack.service.release(fault);
      await stack.client.retry(name);
      const done = await waitFor(name, operation);
      expect(done.operation.state).toBe('done');
      expect(done.status.nodes).toMatchObject([{ incarnation: 1 }]);
      expect(await machines()).toMatchObject([{ id: done.status.nodes[0]?.providerid }]);
    });

  it.concurrent('leaks no machine if the cluster is deleted while CREATE is on its way to the provider', async () => {
    const hostname = 'early-app-1';
    // Seen almost as late as a call of provider `local` may have its effect, so that DELETE comes first.
    await stack.service.arm({ fault: 'list-lag', ms: 8_500, hostname });
    const fault = await stack.service.arm({ fault: 'hold-answer', operation: 'create', hostname });
    const operation = await apply('early');
    await until('CREATE is accepted', async () => (await stack.service.held(fault)) === 1);
    await report('early', 'CREATE', failureOf('Invalid'));
    expect((await waitFor('early', operation)).operation.state).toBe('held');
    const { operation: deletion = '' } = await stack.client.delete('early');
    expect((await waitFor('early', deletion)).operation.state).toBe('done');
    await stack.service.release(fault);
    const left = (await stack.service.machines()).filter((machine) => machine['hostname'] === hostname);
    expect(left.filter(({ state }) => state !== 'deleting')).toEqual([]);
    expect((await stack.service.journal('delete')).map((entry) => entry.hostname)).toContain(hostname);
  });

  it.concurrent('makes no second machine if the attempts of CREATE are counted anew', async () => {
    await ledger.open('reset');
    const hostname = 'reset-app-1';
    await stack.service.arm({ fault: 'list-lag', ms: lagCloud.lagMs, hostname, count: 2 });
    const fault = await stack.service.arm({ fault: 'hold-answer', operation: 'create', hostname });
    const operation = await apply('reset', 'patient');
    await until('CREATE is accepted', async () => (await stack.service.held(fault)) === 1);
    const { activityId } = await attemptOf('reset', 'CREATE');
    await stack.client.temporal.workflowService.resetActivity({
      namespace: stack.namespace,
      execution: { workflowId: 'cluster/reset' },
      id: activityId,
      resetHeartbeat: true,
    });
    await fail('reset', 'CREATE', 'Retryable', false);
    await stack.service.release(fault);
    const done = await waitFor('reset', operation);
    expect(done.operation.state).toBe('done');
    const machines = (await stack.service.machines()).filter((machine) => machine['hostname'] === hostname);
    expect(machines).toMatchObject([{ id: done.status.nodes[0]?.providerid }]);
  });

  it.concurrent('leaves no node out of an operation by the end of a cancelled task', async () => {
    const operation = await apply('left');
    await ledger.written('left app-1 app INSTALL begin');
    await report('left', 'INSTALL', { canceledFailureInfo: {} });
    expect((await waitFor('left', operation)).operation.state).toBe('held');
    await stack.client.retry('left');
    await ledger.open('left');
    expect((await waitFor('left', operation)).operation.state).toBe('done');
    expect(await ledger.lines('left ')).toEqual(installed('left'));
  });
});
