import { it } from 'vitest';
import {
  rateLimiterWorkflowId,
  artifactPartWorkflowId,
  artifactsWorkflowId,
  periodicChecksScheduleId,
  lockWorkflowId,
} from '../../src/model/names.js';
import { callTimesOf, locksOf } from '../../src/worker/account-workflows.js';
import { until } from '../harness/until.js';
import { openGround } from '../harness/machine/ground.js';
import { inStudio } from '../harness/histories/studio.js';

// As histories.record.ts.
it('records the artifacts, the lock and the rate limiter of an account, a sweep and periodic checks', () =>
  inStudio({}, async ({ stack, keep }) => {
    const { temporal } = stack.client;
    const { resources } = stack.client;
    const first = await resources.put('keys', { format: 'file', bytes: Buffer.from('one') });
    await resources.put('keys', { format: 'file', bytes: Buffer.from('two') });
    await resources.set('keys', 2);
    await resources.rollBack('keys');
    await resources.set('keys', null);
    await keep('artifacts', artifactsWorkflowId);
    await keep('artifact-part', artifactPartWorkflowId(first.digest, 0));

    const lock = locksOf(temporal, 'serial');
    await lock.take({ holder: 'a', leaseMs: 60_000, waitMs: 0 });
    const waiting = lock.take({ holder: 'b', leaseMs: 300, waitMs: 10_000 });
    await lock.release('a');
    await waiting;
    await until('the lease has expired', () => lock.take({ holder: 'c', leaseMs: 60_000, waitMs: 0 }));
    await keep('lock', lockWorkflowId('serial'));

    const calls = callTimesOf(temporal, 'limited');
    await calls.take({ count: 2, everyMs: 10 });
    await calls.take({ count: 1, everyMs: 10 });
    await keep('rate-limiter', rateLimiterWorkflowId('limited'));

    await stack.client.sweep();
    await openGround(stack).add('one');
    await temporal.schedule.getHandle(periodicChecksScheduleId).trigger();
    const ended = async (type: string): Promise<string | undefined> => {
      const query = `WorkflowType = '${type}' AND ExecutionStatus = 'Completed'`;
      for await (const { workflowId } of temporal.workflow.list({ query })) return workflowId;
      return undefined;
    };
    await keep('sweep', await until('a sweep has ended', () => ended('sweep')));
    await keep('periodic-checks', await until('the checks have ended', () => ended('periodicChecks')));
  }));
