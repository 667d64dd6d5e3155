import { nodeId } from '../../names.js';
import { PlanError } from '../plan-error.js';
import { serviceSteps } from './build.js';
import type { ServiceWork } from './service-work.js';
import type { NodeSummary, PlannedFacts, PlannedServiceFacts } from '../facts/current.js';
import type { PlanContext } from '../context.js';
import { directDependencies, withDependents, withNeeds, type ServiceOutline } from '../order/dependencies.js';
import { undrain } from '../rolling/drain.js';
import { because, draft, type DraftKind, type DraftStep } from './draft.js';
import type { IntentOf } from '../intent/intent.js';
import { afterReboot, cameUpAgain } from '../machines/machines.js';
import {
  checkNodes,
  isReachable,
  isUsable,
  listNames,
  meantServices,
  selectNodes,
  servicesOn,
} from '../intent/selection.js';
import {
  workToReconfigure,
  workToReconfigureAndRestart,
  workToRestart,
  workToStart,
  workToStop,
} from './switch-work.js';

type ServiceIntent = IntentOf<'start' | 'stop' | 'restart' | 'reconfigure'>;

/**
 * Work of one service on a node, by its facts there; undefined for a service that the operation leaves alone.
 */
type Work = (service: string, outline: ServiceOutline, facts: PlannedServiceFacts) => ServiceWork | undefined;

/** start, stop, restart and reconfigure: touch only the named services and what stops with them. */
export function draftServices(context: PlanContext, intent: ServiceIntent): readonly DraftKind[] {
  const nodes = 'nodes' in intent ? intent.nodes : undefined;
  if (nodes !== undefined) {
    checkNodes(context, nodes);
    refuseLeftOut(context, nodes);
  }
  const workOf = workOfIntent(context, intent);
  return context.current.nodes.filter(isUsable).flatMap((summary) => {
    const { group } = summary;
    const rebooted = summary.facts.seen === 'rebooted';
    const facts = rebooted && intent.kind === 'start' ? afterReboot(summary.facts) : summary.facts;
    const services = servicesOn(context, summary);
    const following = workOfFollowing(context, facts, services);
    const work = services.flatMap((name) => {
      const outline = context.outlines[name];
      const found = outline && workOf(name, outline, facts.services[name] ?? {});
      return found === undefined ? [] : [[name, found] as const];
    });
    const back = intent.kind === 'stop' ? [] : undrain(context, facts);
    const meant = selectNodes(summary, nodes);
    const others = selectNodes(summary, undefined).filter((index) => !meant.includes(index));
    const kind = { group, purpose: 'update', services } as const;
    const chainOf = (todo: ReadonlyMap<string, ServiceWork>): readonly DraftStep[] => {
      const steps = serviceSteps(context, facts, todo);
      return [...(rebooted ? confirmedFirst(steps) : steps), ...back];
    };
    return [
      ...draft({ ...kind, indexes: meant, chain: chainOf(new Map([...following, ...work])) }),
      ...draft({ ...kind, indexes: others, chain: chainOf(following) }),
    ];
  });
}

/** Only what brings a failed node to the file makes it a peer again. */
function refuseLeftOut({ intent, current }: PlanContext, named: readonly string[]): void {
  const failed = current.nodes.flatMap((summary) =>
    summary.facts.excluded === 'before'
      ? selectNodes(summary, named).map((index) => nodeId(summary.group, index))
      : [],
  );
  if (failed.length > 0)
    throw new PlanError(
      `${intent.kind} names nodes that failed in an earlier operation, which went on without them: ${listNames(failed)}. An apply or 'heddle replace' tries them again`,
    );
}

/**
 * Services start again on a machine that was rebooted: CONFIRM records the new boot, which ends the drift.
 */
function confirmedFirst(steps: readonly DraftStep[]): readonly DraftStep[] {
  if (!steps.some(({ action }) => action === 'START')) return steps;
  return because([{ phase: 'up', action: 'CONFIRM' }, ...steps], cameUpAgain);
}

/** Services that stop before one that they need, and start after it. */
function workOfFollowing(
  { outlines, following }: PlanContext,
  facts: PlannedFacts,
  services: readonly string[],
): ReadonlyMap<string, ServiceWork> {
  return new Map(
    services.flatMap((name) => {
      const outline = outlines[name];
      const reason = following.get(name);
      if (outline === undefined || reason === undefined) return [];
      return [[name, { actions: workToRestart(outline, facts.services[name] ?? {}), reason }] as const];
    }),
  );
}

/**
 * exec: one command on each node that has not run it in this operation; on one that failed before, if it is
 * named.
 */
export function draftExec(context: PlanContext, intent: IntentOf<'exec'>): readonly DraftKind[] {
  if (intent.nodes !== undefined) checkNodes(context, intent.nodes);
  const step: DraftStep = {
    phase: 'up',
    action: 'EXEC',
    batchSlot: context.rolling === undefined ? undefined : '@exec',
  };
  const mayRun = (summary: NodeSummary): boolean =>
    intent.nodes === undefined ? isUsable(summary) : isReachable(summary.facts);
  return context.current.nodes
    .filter((summary) => mayRun(summary) && summary.facts.executed !== true)
    .flatMap((summary: NodeSummary) =>
      draft({
        group: summary.group,
        purpose: 'exec',
        indexes: selectNodes(summary, intent.nodes),
        services: servicesOn(context, summary),
        chain: [step],
      }),
    );
}

function workOfIntent(context: PlanContext, intent: ServiceIntent): Work {
  switch (intent.kind) {
    case 'stop':
      return workOfStop(context);
    case 'start':
      return workOfStart(context);
    case 'restart':
      return workOfRestart(context);
    case 'reconfigure':
      return workOfReconfigure(context, intent);
  }
}

function workOfStop(context: PlanContext): Work {
  const { outlines } = context;
  const meant = new Set(meantServices(context, 'STOP'));
  const all = new Set(withDependents(outlines, [...meant]));
  return (service, outline, facts) =>
    all.has(service)
      ? {
          actions: workToStop(outline, facts),
          reason: meant.has(service) ? asked : needs(outlines, service, all),
        }
      : undefined;
}

function workOfStart(context: PlanContext): Work {
  const { outlines } = context;
  const meant = new Set(meantServices(context, 'START'));
  const all = new Set(withNeeds(outlines, [...meant]));
  return (service, outline, facts) =>
    all.has(service)
      ? { actions: workToStart(outline, facts), reason: meant.has(service) ? asked : 'it is needed' }
      : undefined;
}

function workOfRestart(context: PlanContext): Work {
  const { held } = context;
  const meant = new Set(meantServices(context, 'START'));
  return (service, outline, facts) =>
    meant.has(service) && !held.has(service)
      ? { actions: workToRestart(outline, facts), reason: asked }
      : undefined;
}

function workOfReconfigure(context: PlanContext, { restart }: IntentOf<'reconfigure'>): Work {
  const { held } = context;
  const meant = new Set(meantServices(context, 'CONFIGURE'));
  return (service, outline, facts) => {
    if (!meant.has(service)) return undefined;
    const work = restart === true && !held.has(service) ? workToReconfigureAndRestart : workToReconfigure;
    return { actions: work(outline, facts), reason: asked };
  };
}

const asked = 'requested';

function needs(outlines: PlanContext['outlines'], service: string, all: ReadonlySet<string>): string {
  return `it needs ${directDependencies(outlines, service, 'runtime')
    .filter((name) => all.has(name))
    .join(', ')}`;
}
