import type { Action, ServiceAction } from '../../action.js';
import { peerScope, readsPeers } from '../work/service-work.js';
import type { PlanContext } from '../context.js';
import type { DraftKind, DraftStep, PlanPhase } from '../work/draft.js';
import { idOf } from './order.js';
import type { Kind, Step } from '../plan.js';
import { countOf } from '../ranges.js';

/** What chains wait for on other nodes. */
interface Linked {
  readonly kinds: readonly Kind[];
  /** How many tasks must end before a gate opens. */
  readonly gates: Readonly<Record<string, number>>;
}

/**
 * Puts gates between the chains: what a step waits for on other nodes, counted per kind. A chain waits for a
 * gate once, and never while it holds a batch slot.
 */
export function linkGates(kinds: readonly DraftKind[], context: PlanContext): Linked {
  const counts = countSteps(kinds);
  const addresses = addressGates(kinds, context);
  const waits = kinds.map((kind) => {
    const wanted = kind.chain.map((step, index) => [
      ...gatesOf(step, context, addresses),
      ...(index === 0 ? drainGates(kind, context) : []),
    ]);
    return onceEach(beforeBatches(kind.chain, wanted), (gate) => (counts[gate] ?? 0) > 0);
  });
  const used = new Set(waits.flat(2));
  const linked = kinds.map((kind, k) => ({
    group: kind.group,
    purpose: kind.purpose,
    nodes: kind.nodes,
    services: kind.services,
    chain: kind.chain.map((step, index) => linkStep(step, kind, waits[k]?.[index] ?? [], used)),
  }));
  return {
    kinds: linked,
    gates: Object.fromEntries([...used].toSorted().map((gate) => [gate, counts[gate] ?? 0])),
  };
}

/** A kind as a preview shows it when its gates are not known yet. */
export function withoutGates({ group, purpose, nodes, services, chain }: DraftKind): Kind {
  return { group, purpose, nodes, services, chain: chain.map(({ phase: _phase, ...step }) => step) };
}

function linkStep(
  draft: DraftStep,
  kind: DraftKind,
  after: readonly string[],
  used: ReadonlySet<string>,
): Step {
  const { phase: _phase, ...step } = draft;
  const counts = gateOf(draft, kind);
  return { ...step, ...(after.length > 0 ? { after } : {}), ...(used.has(counts) ? { counts } : {}) };
}

/**
 * The first step in a batch waits for everything the batch's steps wait for: a node that holds a batch slot
 * never waits for others.
 */
function beforeBatches(
  chain: readonly DraftStep[],
  waits: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  return chain.map((step, index) => {
    if (step.batchSlot === undefined) return waits[index] ?? [];
    if (chain[index - 1]?.batchSlot === step.batchSlot) return [];
    const end = chain.findIndex((other, place) => place > index && other.batchSlot !== step.batchSlot);
    return waits.slice(index, end < 0 ? undefined : end).flat();
  });
}

/** Gates stay open once they are, so that a chain needs to wait for each only once. */
function onceEach(
  waits: readonly (readonly string[])[],
  counts: (gate: string) => boolean,
): readonly (readonly string[])[] {
  const passed = new Set<string>();
  return waits.map((gates) =>
    gates.filter((gate) => {
      if (passed.has(gate) || !counts(gate)) return false;
      passed.add(gate);
      return true;
    }),
  );
}

function countSteps(kinds: readonly DraftKind[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const kind of kinds) {
    const nodes = countOf(kind.nodes);
    for (const step of kind.chain) {
      const gate = gateOf(step, kind);
      counts[gate] = (counts[gate] ?? 0) + nodes;
    }
  }
  return counts;
}

/** The gate a step counts for: by service, or by group for what concerns the machine. */
function gateOf(step: DraftStep, kind: DraftKind): string {
  return gateId(step.phase, step.action, step.service ?? `@${kind.group}`);
}

function gateId(phase: PlanPhase, action: Action, of: string): string {
  const id = `${action}:${of}`;
  return phase === 'up' ? id : `${phase}/${id}`;
}

const readers: readonly Action[] = ['CONFIGURE', 'INITIALIZE', 'START'];

function gatesOf(
  step: DraftStep,
  context: PlanContext,
  addresses: (service: string) => readonly string[],
): readonly string[] {
  const { phase, action, service } = step;
  if (service === undefined) return [];
  const point = { action: action as ServiceAction, service };
  if (phase === 'drain') return [];
  if (phase === 'undrain') return drainedGates(service, context);
  if (phase === 'down' || phase === 'replace')
    return context.down.waitsFor(point).flatMap((other) => [
      gateId(phase, other.action, other.service),
      // Dependents on nodes that stay stop before the service does.
      ...(phase === 'replace' && context.rolling === undefined ? [idOf(other)] : []),
    ]);
  const waited = context.up
    .waitsFor(point)
    .flatMap((other) => [
      idOf(other),
      gateId('first', other.action, other.service),
      ...(action === 'STOP' && context.rolling === undefined
        ? [gateId('replace', 'STOP', other.service)]
        : []),
    ]);
  const reads = readers.includes(action) ? addresses(service) : [];
  return [
    ...waited,
    ...reads,
    ...routerGates(service, context),
    ...(step.batchSlot === undefined ? [] : firstGates(service, context)),
  ];
}

/** A batch is disturbed when its routers are configured without it. */
function routerGates(service: string, { drains }: PlanContext): readonly string[] {
  return (drains[service] ?? []).flatMap((router) =>
    routerActions.map((action) => gateId('drain', action, router)),
  );
}

/** Routers get back what was drained when all of that is done. */
function drainedGates(router: string, { drains, outlines }: PlanContext): readonly string[] {
  return Object.entries(drains).flatMap(([service, routers]) =>
    routers.includes(router)
      ? (outlines[service]?.actions ?? []).flatMap((action) => [
          gateId('up', action, service),
          gateId('first', action, service),
        ])
      : [],
  );
}

const routerActions = ['CONFIGURE', 'RELOAD'] as const;

/** A service is started on nodes without it before running instances are touched. */
function firstGates(service: string, context: PlanContext): readonly string[] {
  return (context.outlines[service]?.actions ?? []).map((action) => gateId('first', action, service));
}

/** CONFIRM of every node whose address a service may read; worked out once for each service. */
function addressGates(
  kinds: readonly DraftKind[],
  context: PlanContext,
): (service: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  const confirming = kinds.filter(({ chain }) => chain.some(({ action }) => action === 'CONFIRM'));
  return (service) => {
    const found = known.get(service);
    if (found !== undefined) return found;
    const scope = peerScope(context.outlines, service);
    const read = confirming.filter(
      ({ services }) => scope === 'all' || services.some((name) => scope.has(name)),
    );
    const gates = [...new Set(read.map(({ group }) => gateId('up', 'CONFIRM', `@${group}`)))];
    known.set(service, gates);
    return gates;
  };
}

/** A node leaves only after every service that reads the nodes was configured without it. */
function drainGates(kind: DraftKind, context: PlanContext): readonly string[] {
  if (kind.purpose !== 'remove' || context.deleting) return [];
  return Object.entries(context.outlines).flatMap(([name, outline]) =>
    readsPeers(outline)
      ? (['up', 'first'] as const).flatMap((phase) => [
          gateId(phase, 'CONFIGURE', name),
          gateId(phase, 'RELOAD', name),
          gateId(phase, 'START', name),
        ])
      : [],
  );
}
