import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { call } from '../../client/call.js';
import { findStuck, type StuckWorkflow } from '../../client/stuck.js';
import type { Config } from '../../config/index.js';
import { clusterWorkflowId, ownerWorkflowId } from '../../model/names.js';
import { findResetPoint, idOf } from '../../replay/index.js';
import type { RecoverDocument } from '../../schema/output/system.js';
import { workflowsOf } from '../cluster/task/history-events.js';
import { openKeys, type ServerOptions } from '../configuration.js';
import { exitCodes } from '../errors.js';
import { formatCount } from '../format.js';
import { verb } from '../verb.js';

/** Histories can be long. */
const fetchMs = 60_000;
/** How long workers may take to continue, in ms. */
const continueMs = 60_000;

type Recovered = RecoverDocument['recovered'][number];

/**
 * Resets stuck workflows to the end of their last good task. Work that was done since is not lost: the next
 * attempts of its tasks find machines, and scripts that ran or still run, by their ids.
 */
export const recover = verb(
  async ({ temporal, config }, name: string, _options: ServerOptions): Promise<RecoverDocument> => {
    // Our own output replaces the SDK's log.
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => undefined),
      telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
    });
    const suspects = await suspectsOf(temporal, name);
    const recovered: Recovered[] = [];
    const left: RecoverDocument['left'][number][] = [];
    for (const one of suspects) {
      const outcome = await recoverOne(temporal, config, one);
      if (outcome === undefined) continue;
      if ('why' in outcome) left.push(outcome);
      else recovered.push(outcome);
    }
    return { recovered, left };
  },
  {
    worker: true,
    print: (output, { recovered, left }, name) => {
      if (recovered.length + left.length === 0)
        output.line(`${name} is not stuck: workers continue its workflow; nothing was changed`);
      for (const { workflowId, event, discarded } of recovered)
        output.line(
          `${workflowId} continues: reset to event ${event}, which discarded ${formatCount(discarded, 'event')} of its history`,
        );
      for (const { workflowId, why } of left) output.line(`${workflowId} is stuck: ${why}`, 'red');
    },
    exitCode: ({ left }) => (left.length > 0 ? exitCodes.failed : exitCodes.ok),
  },
);

/** `failures` and the rest are absent for one that no worker has failed to continue yet. */
type Suspect = Pick<StuckWorkflow, 'workflowId'> & Partial<StuckWorkflow>;

/**
 * Stuck workflows of a cluster and its groups, or of any other owner. If one of a cluster is
 * stuck, the others are suspects: a group is idle until its cluster sends it something.
 */
async function suspectsOf(temporal: Client, name: string): Promise<readonly Suspect[]> {
  const workflowId = ownerWorkflowId(name);
  const ids =
    workflowId === clusterWorkflowId(name)
      ? await call(temporal, `workflows of ${name}`, () => workflowsOf(temporal, name))
      : [workflowId];
  const found = await Promise.all(
    ids.map(async (id) => (await findStuck(temporal, id)) ?? { workflowId: id }),
  );
  return found.some(isStuck) ? found : [];
}

function isStuck(suspect: Suspect): suspect is StuckWorkflow {
  return suspect.failures !== undefined;
}

/** Undefined for a suspect that needs nothing. */
async function recoverOne(
  temporal: Client,
  config: Config,
  suspect: Suspect,
): Promise<Recovered | { readonly workflowId: string; readonly why: string } | undefined> {
  const { workflowId, runId, failures, failure } = suspect;
  const { namespace } = temporal.options;
  const history = await call(
    temporal,
    `history of ${workflowId}`,
    () => temporal.workflow.getHandle(workflowId, runId).fetchHistory(),
    { waitMs: fetchMs },
  );
  const point = await findResetPoint(workflowId, history, {
    namespace,
    keys: openKeys(config),
    onPlaintext: config.encryption === 'optional' ? 'pass' : undefined,
  });
  if (!isStuck(suspect) && point?.event === undefined) return undefined;
  const failed = `its task failed ${failures} times in a row (${failure})`;
  if (point === undefined)
    return {
      workflowId,
      why: `${failed}, and this build can continue it as it is: workers of another build, or without a key, take its tasks ('heddle doctor' shows the workers)`,
    };
  const end = history.events?.find((event) => idOf(event) === point.event);
  if (point.event === undefined || end === undefined)
    return {
      workflowId,
      why: `${failed}, and a reset would repeat the same failure: ${point.fault.message}`,
    };
  const reset = await call(temporal, `reset of ${workflowId}`, () =>
    temporal.workflowService.resetWorkflowExecution({
      namespace,
      workflowExecution: { workflowId, runId },
      reason: `heddle recover: ${point.fault.message}`.slice(0, 500),
      workflowTaskFinishEventId: end.eventId,
      requestId: randomUUID(),
    }),
  );
  if (!(await continues(temporal, workflowId)))
    return {
      workflowId,
      why: `reset to event ${point.event}, and its task fails again: workers of another build take its tasks ('heddle doctor' shows the workers)`,
    };
  const discarded = (history.events?.length ?? 0) - point.event + 1;
  return { workflowId, runId: reset.runId, event: point.event, discarded };
}

/** Whether a worker completes the first task after the reset, which replays all before it. */
async function continues(temporal: Client, workflowId: string): Promise<boolean> {
  const { namespace } = temporal.options;
  for (const until = Date.now() + continueMs; Date.now() < until; await pause(200)) {
    const { pendingWorkflowTask } = await call(temporal, workflowId, () =>
      temporal.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
    );
    if (pendingWorkflowTask === null || pendingWorkflowTask === undefined) return true;
    if ((await findStuck(temporal, workflowId)) !== undefined) return false;
  }
  return false;
}
