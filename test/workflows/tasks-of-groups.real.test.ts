import { expect, it } from 'vitest';
import { groupWorkflowId } from '../../src/model/names.js';
import { startStack } from '../harness/stack.js';
import { openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

it('later groups have a lower priority, and tasks of groups a longer heartbeat timeout', async () => {
  const stack = await startStack({ config: { scale: { inlineNodes: 1, groupNodes: 1, inFlight: 1 } } });
  try {
    const { temporal } = stack.client;
    const ledger = openLedger(stack.folder);
    await stack.startWorker();
    const { operation } = await stack.client.apply(
      closed({
        name: 'large',
        nodes: { app: nodes(53, ['app']) },
        services: { app: { actions: { install: ledger.script() } } },
      }),
    );
    expect((await stack.client.waitFor('large', operation)).operation.state).toBe('done');
    const priorities = await Promise.all(
      [1, 20, 21, 50, 51, 52].map(async (group) => {
        const { workflowExecutionInfo } = await temporal.workflowService.describeWorkflowExecution({
          namespace: stack.namespace,
          execution: { workflowId: groupWorkflowId('large', String(group)) },
        });
        const { priorityKey, fairnessKey } = workflowExecutionInfo?.priority ?? {};
        return { group, priorityKey, fairnessKey };
      }),
    );
    const fairnessKey = 'cluster/large';
    expect(priorities).toEqual([
      { group: 1, priorityKey: 3, fairnessKey },
      { group: 20, priorityKey: 3, fairnessKey },
      { group: 21, priorityKey: 4, fairnessKey },
      { group: 50, priorityKey: 4, fairnessKey },
      { group: 51, priorityKey: 5, fairnessKey },
      { group: 52, priorityKey: 5, fairnessKey },
    ]);
    const { events } = await temporal.workflow.getHandle(groupWorkflowId('large', '52')).fetchHistory();
    const tasks = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
      if (scheduled == null) return [];
      const { activityType, priority, heartbeatTimeout } = scheduled;
      const seconds = Number(heartbeatTimeout?.seconds);
      return [[activityType?.name, { key: priority?.priorityKey ?? 'inherited', seconds }] as const];
    });
    // Only CREATE is on a queue that groups share with others.
    const own = { key: 'inherited', seconds: 10 };
    expect(Object.fromEntries(tasks)).toEqual({
      CREATE: { key: 3, seconds: 4 },
      CONFIRM: own,
      BOOTSTRAP: own,
      INSTALL: own,
    });
  } finally {
    await stack.stop();
  }
});
