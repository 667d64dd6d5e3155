import { setTimeout as pause } from 'node:timers/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { startStack, type Stack, type WorkerProcess } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

describe('a handover between workers while a script runs', () => {
  let stack: Stack;
  let ledger: Ledger;
  let first: WorkerProcess;
  beforeAll(async () => {
    stack = await startStack();
    ledger = openLedger(stack.folder);
    first = await stack.startWorker();
    const start = ledger.script({ gate: 'end' });
    await stack.client.apply(
      closed({ name: 'web', nodes: { app: nodes(1, ['web']) }, services: { web: { actions: { start } } } }),
    );
    await ledger.written('web app-1 web START begin');
  });

  const status = (...more: readonly string[]): Promise<Ended> =>
    runHeddle(['status', 'web', ...more], {
      distPath: inject('distPath'),
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
  /** What a client sees while the task moves from one worker to the next. */
  const whileMoving = async (attempt: number): Promise<readonly string[]> => {
    const seen: string[] = [];
    await until('the next worker has the task', async () => {
      const { stdout } = await status();
      seen.push(...stdout.split('\n').filter((line) => line.startsWith('stuck')));
      const { pendingActivities } = await stack.client.temporal.workflowService.describeWorkflowExecution({
        namespace: stack.namespace,
        execution: { workflowId: 'cluster/web' },
      });
      // temporal.api.enums.v1.PendingActivityState: started
      return pendingActivities?.some((one) => one.attempt === attempt && one.state === 2);
    });
    seen.push(...(await status()).stdout.split('\n').filter((line) => line.startsWith('stuck')));
    return seen;
  };

  it('is never called stuck, neither when a worker is stopped nor when it is killed', async () => {
    const second = await stack.startWorker('second');
    await first.stop();
    expect(await whileMoving(2)).toEqual([]);
    const third = await stack.startWorker('third');
    await second.kill();
    expect(await whileMoving(3)).toEqual([]);
    await ledger.open('end');
    expect((await stack.client.waitFor('web', '1')).operation.state).toBe('done');
    await third.stop();
  });

  it('is waited for by a command that watches', async () => {
    const watched = status('--watch');
    await pause(3_000);
    const fourth = await stack.startWorker('fourth');
    expect(await watched).toMatchObject({ code: 0, stdout: expect.stringContaining('cluster web: idle') });
    await fourth.stop();
  });
});
