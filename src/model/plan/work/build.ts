import {
  noWork,
  peerScope,
  readsPeers,
  workToFollow,
  workToRemove,
  workToRun,
  type Circumstances,
  type ServiceWork,
} from './service-work.js';
import type { NodeSummary, PlannedFacts } from '../facts/current.js';
import type { PlanContext } from '../context.js';
import type { DraftStep } from './draft.js';
import { isLost } from '../machines/machines.js';
import { isInScope, servicesAfter } from '../intent/scope.js';
import { workToRestart } from './switch-work.js';

/** Brings nodes with these facts to what the spec wants: machine, what prepares it, services. */
export function buildUp(context: PlanContext, node: NodeSummary): readonly DraftStep[] {
  const { group, facts } = node;
  const work = new Map(
    servicesAfter(context, node).map((name) => [
      name,
      isInScope(context, node, name) ? serviceWork(context, facts, name) : workBeside(context, facts, name),
    ]),
  );
  const steps = serviceSteps(context, facts, work);
  // A limited apply prepares the machine for what the next one brings, too.
  const services = context.spec?.nodes[group]?.services ?? [];
  return [...machineSteps(context, facts, services, steps.length > 0), ...steps];
}

/** The work of a node's services, in the one order of all actions. */
export function serviceSteps(
  context: PlanContext,
  facts: PlannedFacts,
  work: ReadonlyMap<string, ServiceWork>,
): readonly DraftStep[] {
  const steps: DraftStep[] = [];
  // Most nodes have little to do: this loop is what the time of large plans goes into.
  for (const { action, service } of context.up.points) {
    const todo = work.get(service);
    if (todo?.actions.includes(action) !== true) continue;
    const digest = context.digests[service]?.[action];
    const { phase, batchSlot } = placeOf(context, facts, service);
    const repeats = context.routers.has(service) && (action === 'CONFIGURE' || action === 'RELOAD');
    const reload = action === 'CONFIGURE' && todo.actions.includes('RELOAD');
    steps.push({
      phase,
      action,
      service,
      ...(batchSlot === undefined ? undefined : { batchSlot }),
      ...(repeats ? { repeats } : undefined),
      ...(reload ? { reload } : undefined),
      ...(digest === undefined ? undefined : { digest }),
      ...(todo.reason === undefined ? undefined : { reason: todo.reason }),
    });
  }
  return settled(steps, context);
}

/**
 * A node keeps its batch slot for a while after the last step in it, and a router that was configured without
 * leaving nodes finishes their requests.
 */
function settled(steps: readonly DraftStep[], context: PlanContext): readonly DraftStep[] {
  const { rolling } = context;
  if (rolling === undefined) return steps;
  return steps.map((step, index) => {
    const { batchSlot, service = '' } = step;
    const next = steps[index + 1];
    const times = [
      ...(batchSlot === undefined || next?.batchSlot === batchSlot ? [] : [rolling.settleMs[batchSlot]]),
      ...(step.repeats === true && next?.service !== service ? routedTimes(context, service) : []),
    ];
    const settleMs = Math.max(0, ...times.map((time = 0) => time));
    return settleMs === 0 ? step : { ...step, settleMs };
  });
}

function routedTimes(context: PlanContext, router: string): readonly (number | undefined)[] {
  if (!peersChange(context, router)) return [];
  return (context.outlines[router]?.routes ?? []).map((name) => context.rolling?.settleMs[name]);
}

/** Whether the nodes that a service reads change in this plan. */
function peersChange({ membership, outlines }: PlanContext, service: string): boolean {
  const outline = outlines[service];
  if (outline === undefined || !readsPeers(outline)) return false;
  const scope = peerScope(outlines, service);
  return scope === 'all' ? membership.any : [...scope].some((other) => membership.services.has(other));
}

type Scripts = 'run' | 'tolerated' | 'none';

/**
 * STOP and REMOVE of all services, then DELETE. A machine that is gone, off or without an address is only
 * deleted.
 */
export function tearDown(
  context: PlanContext,
  facts: PlannedFacts,
  phase: 'down' | 'replace',
): readonly DraftStep[] {
  const scripts = scriptsIn(context, facts, phase);
  const services = scripts === 'none' ? [] : Object.keys(facts.services);
  const tolerant = scripts === 'tolerated' ? { mayFail: true as const } : {};
  const steps = removalSteps(context, facts, services, phase).map((step) => ({ ...step, ...tolerant }));
  return facts.machine === undefined ? steps : [...steps, { phase, action: 'DELETE' }];
}

/** STOP and REMOVE of services that a node no longer wants. */
export function removeServices(
  context: PlanContext,
  facts: PlannedFacts,
  wanted: readonly string[],
): readonly DraftStep[] {
  const gone = Object.keys(facts.services).filter((name) => !wanted.includes(name));
  return facts.CONFIRM === true ? removalSteps(context, facts, gone, 'down') : [];
}

function scriptsIn(context: PlanContext, facts: PlannedFacts, phase: 'down' | 'replace'): Scripts {
  if (facts.CONFIRM === undefined || facts.seen === 'gone' || facts.seen === 'stopped') return 'none';
  if (isLost(facts.seen)) return phase === 'replace' ? 'none' : 'tolerated';
  return context.deleting || facts.toReplace === true ? 'tolerated' : 'run';
}

function removalSteps(
  context: PlanContext,
  facts: PlannedFacts,
  services: readonly string[],
  phase: 'down' | 'replace',
): readonly DraftStep[] {
  const work = new Map(
    services.map((name) => {
      const outline = context.outlines[name];
      return [name, outline === undefined ? [] : workToRemove(outline, facts.services[name] ?? {})];
    }),
  );
  return context.down.points
    .filter(({ action, service }) => work.get(service)?.includes(action) === true)
    .map(({ action, service }) => ({ phase, action, service }));
}

/**
 * What a service does that is not planned itself, when nodes that it reads change or a service that it needs
 * stops.
 */
export function workBeside(context: PlanContext, facts: PlannedFacts, name: string): ServiceWork {
  const outline = context.outlines[name];
  if (outline === undefined) return noWork;
  const found = facts.services[name] ?? {};
  const { follows, ...circumstances } = circumstancesOf(context, name);
  const work = workToFollow(outline, context.digests[name] ?? {}, found, circumstances);
  if (follows === undefined) return work;
  return { actions: [...new Set([...work.actions, ...workToRestart(outline, found)])], reason: follows };
}

function serviceWork(context: PlanContext, facts: PlannedFacts, name: string): ServiceWork {
  const outline = context.outlines[name];
  if (outline === undefined) return { actions: [] };
  return workToRun(
    outline,
    context.digests[name] ?? {},
    facts.services[name] ?? {},
    circumstancesOf(context, name),
  );
}

function circumstancesOf(context: PlanContext, service: string): Circumstances {
  return {
    peersChange: peersChange(context, service),
    held: context.held.has(service),
    follows: context.following.get(service),
  };
}

function machineSteps(
  context: PlanContext,
  facts: PlannedFacts,
  services: readonly string[],
  anyStep: boolean,
): readonly DraftStep[] {
  const steps: DraftStep[] = [];
  if (facts.CREATE === undefined) steps.push({ phase: 'up', action: 'CREATE' });
  if (facts.CONFIRM === undefined) steps.push({ phase: 'up', action: 'CONFIRM' });
  const digest = context.bootstrapDigest(services);
  const again = facts.BOOTSTRAP === undefined ? {} : { reason: 'its automators changed' };
  // A node that gets new software is prepared again when the automators changed since.
  if (facts.BOOTSTRAP === undefined || (anyStep && facts.BOOTSTRAP !== digest))
    steps.push({ phase: 'up', action: 'BOOTSTRAP', digest, ...again });
  return steps;
}

/**
 * In a rolling plan: work on a running service takes batch slots, and comes after that on nodes where it does
 * not run.
 */
function placeOf(
  { rolling, held, outlines }: PlanContext,
  facts: PlannedFacts,
  service: string,
): Pick<DraftStep, 'phase' | 'batchSlot'> {
  if (rolling?.widths[service] === undefined || held.has(service)) return { phase: 'up' };
  const found = facts.services[service] ?? {};
  const starts = outlines[service]?.actions.includes('START') === true;
  const runs = starts
    ? found.START !== undefined && found.begun !== 'STOP'
    : found.INSTALL !== undefined || found.CONFIGURE !== undefined;
  return runs ? { phase: 'up', batchSlot: service } : { phase: 'first' };
}
