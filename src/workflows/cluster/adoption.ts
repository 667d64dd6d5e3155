import { accountRef } from '../../model/node/assigned-machine.js';
import { ActivityFailure, ApplicationFailure, log, sleep, workflowInfo } from '@temporalio/workflow';
import type { PreviousRunsReply, FoundMachine } from '../../model/node/probe.js';
import type { AdoptedMachine } from '../../model/node/state.js';
import type { ServedPlan } from '../../model/plan/plan.js';
import { isMember } from '../../model/cluster/group.js';
import type { Account, Traces } from '../../model/cluster/state.js';
import type { PlannedPlacement } from '../../model/node/placement.js';
import { listNames } from '../../model/plan/intent/selection.js';
import type { Memory } from './memory.js';
import { endGroupOfEarlier } from './groups.js';
import { schedule } from '../schedule.js';

/**
 * Machines left by a previous run of the cluster that was terminated or failed, that a restored database has
 * no record of, or of nodes whose group is gone.
 */
export interface FoundMachines {
  /** By the node that takes each over. */
  readonly adopted: Readonly<Record<string, AdoptedMachine>>;
  /** Why the plan is refused: it has no place for some machines, and no user named them for removal. */
  readonly refused?: string;
}

/** How often to wait, 2 seconds each, for the groups of a previous run to end. */
const patience = 60;

/**
 * Finds what a previous run of the cluster left behind: ends its groups, and assigns machines that fit the
 * plan to the nodes of the same name. The plan is refused if it has no place for a machine of a run that the
 * server has a record of. No machine is changed.
 * @throws ActivityFailure if the state of a provider is unknown.
 */
export async function adoptPreviousRun(memory: Memory, plan: ServedPlan): Promise<FoundMachines> {
  const { name } = memory.state;
  const earlier = await endGroupsOfEarlier(memory);
  const found = await Promise.all(
    accountsOf(plan).map(async (placement) => {
      try {
        return (await machinesAt(placement, name, earlier.uids)).found;
      } catch (error) {
        // If no run was cut short, nothing is left behind. A provider that does not answer fails CREATE. But
        // a list that is too long shows that machines are there.
        if (!(error instanceof ActivityFailure) || !earlier.clean || isInvalid(error)) throw error;
        log.warn(`the machines of provider ${placement.provider} could not be listed`, {
          why: error.cause?.message ?? error.message,
        });
        return [];
      }
    }),
  );
  return assignMachines(plan, found.flat(), {
    source: `a previous run of cluster ${name}`,
    uids: earlier.known,
  });
}

/**
 * The same for the machines of nodes whose group is gone, which the plan takes for new ones.
 * @throws ActivityFailure if the state of a provider is unknown.
 */
export async function adoptOfLostGroups(
  { state: { name, uid, groups, traces } }: Memory,
  plan: ServedPlan,
  lost: readonly string[],
): Promise<FoundMachines> {
  const source = `a group of cluster ${name} that is gone`;
  if (plan.left !== undefined)
    return { adopted: {}, refused: `${source} had nodes that are unknown now: apply the whole file first` };
  const places = eachAccount([...accountsOf(plan), ...(traces?.accounts ?? [])]);
  const uids = [uid, ...(traces?.uids ?? [])];
  const listed = await Promise.all(places.map((place) => machinesAt(place, name, uids)));
  const unable = listed.find((list) => list.unable !== undefined)?.unable;
  if (unable !== undefined)
    return { adopted: {}, refused: `${source} may have left machines, but ${unable}: delete the cluster` };
  const found = listed
    .flatMap((list) => list.found)
    .filter(({ machine }) =>
      lost.some((id) => isMember(groups[id]?.members ?? {}, ...groupAndIndex(machine.nodeId))),
    );
  // A user may replace a failed one when it has its node.
  return assignMachines(plan, found, { source, uids, takesFailed: true });
}

async function machinesAt(
  placement: Account,
  clusterId: string,
  uids: readonly string[],
): Promise<{ readonly found: readonly Left[]; readonly unable?: string }> {
  const { provider } = placement;
  const { machines, unable } = await schedule(
    'FIND_MACHINES',
    { clusterId, provider: accountRef(placement), uids },
    { at: placement, summary: `FIND_MACHINES of ${provider}` },
  );
  return {
    found: machines.map((machine): Left => ({ machine, provider })),
    ...(unable === undefined ? {} : { unable }),
  };
}

function isInvalid({ cause }: ActivityFailure): boolean {
  return cause instanceof ApplicationFailure && cause.type === 'Invalid';
}

interface Left {
  readonly machine: FoundMachine;
  readonly provider: string;
}

interface Assigning {
  /** What left the machines, in words. */
  readonly source: string;
  /** In the keys of machines without a place that the plan is refused for. */
  readonly uids: readonly string[];
  readonly takesFailed?: boolean;
}

function assignMachines(
  plan: ServedPlan,
  found: readonly Left[],
  { source, uids, takesFailed = false }: Assigning,
): FoundMachines {
  // What is being deleted was named before.
  const left = found.filter(({ machine }) => machine.state !== 'deleting');
  if (left.length === 0) return { adopted: {} };
  const adopted: Record<string, AdoptedMachine> = {};
  const others: Left[] = [];
  for (const entry of left.toSorted((one, other) => other.machine.incarnation - one.machine.incarnation)) {
    const { nodeId, keyUid, incarnation, providerid } = entry.machine;
    const placement =
      adopted[nodeId] === undefined && (takesFailed || entry.machine.state !== 'failed')
        ? fittingPlacement(plan, entry)
        : undefined;
    if (placement === undefined) others.push(entry);
    else adopted[nodeId] = { keyUid, incarnation, providerid, placement };
  }
  // If the database was restored from a backup, the others may be in use by a cluster that it does not know.
  const unplaced = others.filter(({ machine }) => uids.includes(machine.keyUid));
  log.info(`${source} left machines`, {
    adopted: Object.keys(adopted).length,
    unplaced: unplaced.length,
    unknown: others.length - unplaced.length,
  });
  return unplaced.length === 0 ? { adopted } : { adopted: {}, refused: refusalOf(source, unplaced) };
}

function refusalOf(source: string, unplaced: readonly Left[]): string {
  const machines = unplaced.map(
    ({ machine: { nodeId, providerid, state }, provider }) =>
      `${nodeId} (machine ${providerid} of provider ${provider}${state === 'failed' ? ', failed' : ''})`,
  );
  return (
    `${source} left machines that this apply has no place for: ${listNames(machines.toSorted())}. ` +
    'An apply adopts machines of the same node, provider, hardware, image and fields, and deletes none that no ' +
    'plan named. Apply a file with a place for them, such as the previous one, and then this one; or delete them: ' +
    "run 'heddle leaks --sweep' to list them, and 'heddle leaks --delete ID...' to delete them"
  );
}

/** The planned placement of the machine's node that the machine fits: same account, and made for the same. */
function fittingPlacement(
  { kinds, placements }: ServedPlan,
  { machine, provider }: Left,
): PlannedPlacement | undefined {
  const [group, index] = groupAndIndex(machine.nodeId);
  const planned = kinds.some(
    (kind) =>
      kind.group === group &&
      kind.purpose === 'create' &&
      kind.nodes.some(([first, last]) => index >= first && index <= last),
  );
  if (!planned) return undefined;
  return placements[group]?.find(
    (candidate) =>
      candidate.provider === provider &&
      (machine.placement === undefined || machine.placement === candidate.digest),
  );
}

/** One of each provider account that the plan makes machines at. */
/** With what the cluster will have after a plan. */
export function tracesAfter(
  { state: { traces } }: Memory,
  plan: ServedPlan,
  adopted: FoundMachines['adopted'],
): Traces {
  const { accounts = [], uids = [] } = traces ?? {};
  return {
    accounts: eachAccount([
      ...accounts,
      ...accountsOf(plan).map(({ site, provider, type, fields }) => ({ site, provider, type, fields })),
    ]),
    uids: [...new Set([...uids, ...Object.values(adopted).map(({ keyUid }) => keyUid)])],
  };
}

function accountsOf({ placements }: ServedPlan): readonly Account[] {
  return eachAccount(Object.values(placements).flat());
}

function eachAccount(places: readonly Account[]): readonly Account[] {
  return [...new Map(places.map((place) => [`${place.site} ${place.provider}`, place])).values()];
}

function groupAndIndex(nodeId: string): readonly [group: string, index: number] {
  const dash = nodeId.lastIndexOf('-');
  return [nodeId.slice(0, dash), Number(nodeId.slice(dash + 1))];
}

async function endGroupsOfEarlier(memory: Memory): Promise<PreviousRunsReply> {
  const { isFirst } = memory;
  const { name } = memory.state;
  for (let tries = 1; ; tries += 1) {
    const earlier = await schedule(
      'FIND_PREVIOUS_RUNS',
      { clusterId: name, runId: workflowInfo().runId, isFirst },
      { summary: `FIND_PREVIOUS_RUNS of ${name}` },
    );
    const { groups = [] } = earlier;
    if (groups.length === 0 || tries === patience) return earlier;
    await Promise.all(groups.map((group) => endGroupOfEarlier(group)));
    await sleep('2 seconds');
  }
}
