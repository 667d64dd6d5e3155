import { serviceSteps } from './build.js';
import { noWork, type ServiceWork } from './chain.js';
import type { NodeSummary, PlannedServiceFacts, PlanningInput } from './current.js';
import { directDependencies, withDependents, withNeeds, type ServiceOutline } from './dependencies.js';
import type { Desired } from './desired.js';
import { draft, type DraftKind, type DraftStep } from './draft.js';
import type { ExecIntent, ReconfigureIntent, RestartIntent, SwitchIntent } from './intent.js';
import { checkNodes, isUsable, meantServices, selectNodes, servicesOn } from './selection.js';
import {
  workToReconfigure,
  workToReconfigureAndRestart,
  workToRestart,
  workToStart,
  workToStop,
} from './switch-work.js';

type ServiceIntent = SwitchIntent | RestartIntent | ReconfigureIntent;

/**
 * Work of one service on a node, by its facts there; undefined for a service that the operation leaves alone.
 */
type Work = (service: string, outline: ServiceOutline, facts: PlannedServiceFacts) => ServiceWork | undefined;

/** start, stop, restart and reconfigure: touch only the named services, on existing nodes. */
export function draftServices(
  input: PlanningInput,
  desired: Desired,
  intent: ServiceIntent,
): readonly DraftKind[] {
  const nodes = 'nodes' in intent ? intent.nodes : undefined;
  if (nodes !== undefined) checkNodes(input, nodes);
  const workOf = workOfIntent(input, desired, intent);
  return input.current.nodes.filter(isUsable).flatMap((summary) => {
    const { group, facts } = summary;
    const services = servicesOn(input, summary);
    const work = new Map(
      services.map((name) => {
        const outline = desired.outlines[name];
        return [
          name,
          outline === undefined ? noWork : (workOf(name, outline, facts.services[name] ?? {}) ?? noWork),
        ];
      }),
    );
    return draft({
      group,
      purpose: 'update',
      indexes: selectNodes(summary, nodes),
      services,
      chain: serviceSteps(desired, facts, work),
    });
  });
}

/** exec: one command on each node that has not run it in this operation. */
export function draftExec(
  input: PlanningInput,
  { width }: Desired,
  intent: ExecIntent,
): readonly DraftKind[] {
  if (intent.nodes !== undefined) checkNodes(input, intent.nodes);
  const step: DraftStep = {
    phase: 'up',
    action: 'EXEC',
    batchSlot: width === undefined ? undefined : '@exec',
  };
  return input.current.nodes
    .filter((summary) => isUsable(summary) && summary.facts.executed !== true)
    .flatMap((summary: NodeSummary) =>
      draft({
        group: summary.group,
        purpose: 'exec',
        indexes: selectNodes(summary, intent.nodes),
        services: servicesOn(input, summary),
        chain: [step],
      }),
    );
}

function workOfIntent(input: PlanningInput, desired: Desired, intent: ServiceIntent): Work {
  switch (intent.kind) {
    case 'stop':
      return workOfStop(input, desired);
    case 'start':
      return workOfStart(input, desired);
    case 'restart':
      return workOfRestart(input, desired);
    case 'reconfigure':
      return workOfReconfigure(input, desired, intent);
  }
}

function workOfStop(input: PlanningInput, { outlines }: Desired): Work {
  const meant = new Set(meantServices(input, outlines, 'STOP'));
  const all = new Set(withDependents(outlines, [...meant]));
  return (service, outline, facts) =>
    all.has(service)
      ? {
          actions: workToStop(outline, facts),
          reason: meant.has(service) ? asked : needs(outlines, service, all),
        }
      : undefined;
}

function workOfStart(input: PlanningInput, { outlines }: Desired): Work {
  const meant = new Set(meantServices(input, outlines, 'START'));
  const all = new Set(withNeeds(outlines, [...meant]));
  return (service, outline, facts) =>
    all.has(service)
      ? { actions: workToStart(outline, facts), reason: meant.has(service) ? asked : 'it is needed' }
      : undefined;
}

/** Rolling, the service stays up as a whole, and so does what needs it. */
function workOfRestart(input: PlanningInput, { outlines, held, width }: Desired): Work {
  const meant = new Set(meantServices(input, outlines, 'START'));
  const all = width === undefined ? new Set(withDependents(outlines, [...meant])) : meant;
  return (service, outline, facts) => {
    if (!all.has(service) || held.has(service)) return undefined;
    const isMeant = meant.has(service);
    return {
      actions: workToRestart(outline, facts),
      reason: isMeant ? asked : needs(outlines, service, all),
    };
  };
}

function workOfReconfigure(
  input: PlanningInput,
  { outlines, held }: Desired,
  { restart }: ReconfigureIntent,
): Work {
  const meant = new Set(meantServices(input, outlines, 'CONFIGURE'));
  return (service, outline, facts) => {
    if (!meant.has(service)) return undefined;
    const work = restart === true && !held.has(service) ? workToReconfigureAndRestart : workToReconfigure;
    return { actions: work(outline, facts), reason: asked };
  };
}

const asked = 'asked for';

function needs(outlines: Desired['outlines'], service: string, all: ReadonlySet<string>): string {
  return `it needs ${directDependencies(outlines, service, 'runtime')
    .filter((name) => all.has(name))
    .join(', ')}`;
}
