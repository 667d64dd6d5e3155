import { ActivityFailure, getExternalWorkflowHandle, log, sleep, workflowInfo } from '@temporalio/workflow';
import type { PreviousRunsReply, FoundMachine } from '../../model/node/probe.js';
import { taskId } from '../../model/names.js';
import type { AdoptedMachine } from '../../model/node/state.js';
import type { ServedPlan } from '../../model/plan/plan.js';
import type { PlannedPlacement } from '../../model/node/placement.js';
import type { Memory } from './memory.js';
import { instructSignal } from './messages.js';
import { schedule, scheduleTask } from '../schedule.js';

/**
 * Machines left by a previous run of the cluster that was terminated or failed, or that a restored database has
 * no record of.
 */
export interface PreviousRun {
  /** By the node that takes each over. */
  readonly adopted: Readonly<Record<string, AdoptedMachine>>;
}

/** How often to wait, 2 seconds each, for the groups of a previous run to end. */
const patience = 60;

/**
 * Finds what a previous run of the cluster left behind: ends its groups, assigns machines that fit the plan
 * to the nodes of the same name, and deletes all others of runs that the server has a record of.
 * @throws ActivityFailure if a machine cannot be deleted, or if the state of a provider is unknown.
 */
export async function adoptPreviousRun(memory: Memory, plan: ServedPlan): Promise<PreviousRun> {
  const earlier = await endGroupsOfEarlier(memory);
  const accounts = accountsOf(plan);
  const found = await Promise.all(
    accounts.map(async (placement) => {
      try {
        const { provider, type, fields } = placement;
        const { machines } = await schedule(
          'FIND_MACHINES',
          { clusterId: memory.state.name, provider: { name: provider, type, fields }, uids: earlier.uids },
          { at: placement, summary: `FIND_MACHINES of ${provider}` },
        );
        return machines.map((machine): Left => ({ machine, placement }));
      } catch (error) {
        // If no run was cut short, nothing is left behind. A provider that does not answer fails CREATE.
        if (!(error instanceof ActivityFailure) || !earlier.clean) throw error;
        log.warn(`the machines of provider ${placement.provider} could not be listed`, {
          why: error.cause?.message ?? error.message,
        });
        return [];
      }
    }),
  );
  const left = found.flat().toSorted((one, other) => other.machine.incarnation - one.machine.incarnation);
  if (left.length === 0) return { adopted: {} };
  return sortOut(memory, plan, left, earlier.known);
}

interface Left {
  readonly machine: FoundMachine;
  readonly placement: PlannedPlacement;
}

async function sortOut(
  memory: Memory,
  plan: ServedPlan,
  left: readonly Left[],
  known: readonly string[],
): Promise<PreviousRun> {
  const adopted: Record<string, AdoptedMachine> = {};
  const others: Left[] = [];
  for (const entry of left) {
    const { nodeId, keyUid, incarnation, providerid } = entry.machine;
    const placement = adopted[nodeId] === undefined ? fittingPlacement(plan, entry) : undefined;
    if (placement === undefined) others.push(entry);
    else adopted[nodeId] = { keyUid, incarnation, providerid, placement };
  }
  // If the database was restored from a backup, the others may be in use by a cluster that it does not know.
  const deleted = others.filter(({ machine }) => known.includes(machine.keyUid));
  log.info('an earlier life of the cluster left machines', {
    adopted: Object.keys(adopted).length,
    deleted: deleted.length,
    unknown: others.length - deleted.length,
  });
  await Promise.all(deleted.map((entry) => deleteLeft(memory, entry)));
  return { adopted };
}

/** The planned placement of the machine's node that the machine fits: same account, and made for the same. */
function fittingPlacement(
  { kinds, placements }: ServedPlan,
  { machine, placement }: Left,
): PlannedPlacement | undefined {
  const dash = machine.nodeId.lastIndexOf('-');
  const [group, index] = [machine.nodeId.slice(0, dash), Number(machine.nodeId.slice(dash + 1))];
  const planned = kinds.some(
    (kind) =>
      kind.group === group &&
      kind.purpose === 'create' &&
      kind.nodes.some(([first, last]) => index >= first && index <= last),
  );
  if (!planned || machine.state === 'failed') return undefined;
  return placements[group]?.find(
    (candidate) =>
      candidate.provider === placement.provider &&
      (machine.placement === undefined || machine.placement === candidate.digest),
  );
}

async function deleteLeft(memory: Memory, { machine, placement }: Left): Promise<void> {
  const { name, uid } = memory.state;
  const { nodeId, keyUid, incarnation, providerid } = machine;
  const operation = `left-${incarnation}`;
  await scheduleTask(
    'DELETE',
    {
      taskId: taskId({ clusterUid: keyUid, nodeId, incarnation, action: 'DELETE', operation }),
      clusterId: name,
      clusterUid: uid,
      keyUid,
      nodeId,
      incarnation,
      run: 1,
      operation,
      config: { providerid },
      cluster: {},
      peersVersion: 0,
      peersOf: workflowInfo().workflowId,
      provider: { name: placement.provider, type: placement.type, fields: placement.fields },
    },
    placement,
  );
}

/** One of each provider account that the plan makes machines at. */
function accountsOf({ placements }: ServedPlan): readonly PlannedPlacement[] {
  const accounts = new Map(
    Object.values(placements)
      .flat()
      .map((placement) => [`${placement.site} ${placement.provider}`, placement]),
  );
  return [...accounts.values()];
}

async function endGroupsOfEarlier({ state: { name }, isFirst }: Memory): Promise<PreviousRunsReply> {
  for (let tries = 1; ; tries += 1) {
    const earlier = await schedule(
      'FIND_PREVIOUS_RUNS',
      { clusterId: name, runId: workflowInfo().runId, isFirst },
      { summary: `FIND_PREVIOUS_RUNS of ${name}` },
    );
    const { groups = [] } = earlier;
    if (groups.length === 0 || tries === patience) return earlier;
    await Promise.all(
      groups.map(async (group) =>
        getExternalWorkflowHandle(group)
          .signal(instructSignal, { seq: 0, peersVersion: 0, list: [{ do: 'end' }] })
          .catch(() => undefined),
      ),
    );
    await sleep('2 seconds');
  }
}
