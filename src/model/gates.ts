import type { Action } from './action.js';
import { peerScope, readsPeers } from './chain.js';
import { idOf, type Point } from './order.js';
import { countOf, type Kind, type Purpose, type Range, type Step } from './plan.js';
import type { Desired } from './plan-operation.js';

/** `up`: what makes the spec true; `replace`: tear-down before it; `down`: tear-down after it. */
export type PlanPhase = 'up' | 'replace' | 'down';

export interface DraftStep {
  readonly phase: PlanPhase;
  readonly action: Action;
  readonly service?: string;
  readonly digest?: string;
  readonly reason?: string;
  readonly mayFail?: true;
}

export interface DraftKind {
  readonly group: string;
  readonly purpose: Purpose;
  readonly nodes: readonly Range[];
  readonly chain: readonly DraftStep[];
  readonly services: readonly string[];
}

/** Puts gates between the chains: what a step waits for on other nodes, counted per kind. */
export function linkGates(kinds: readonly DraftKind[], desired: Desired): { readonly kinds: readonly Kind[]; readonly gates: Readonly<Record<string, number>> } {
  const counts = countSteps(kinds);
  const waits = kinds.map((kind) => kind.chain.map((step, index) => {
    const wanted = [...gatesOf(step, kind, kinds, desired), ...(index === 0 ? drainGates(kind, desired) : [])];
    return [...new Set(wanted)].filter((gate) => (counts[gate] ?? 0) > 0);
  }));
  const used = new Set(waits.flat(2));
  const linked = kinds.map((kind, k) => ({
    group: kind.group, purpose: kind.purpose, nodes: kind.nodes, services: kind.services,
    chain: kind.chain.map((draft, index) => linkStep(draft, kind, waits[k]?.[index] ?? [], used)),
  }));
  return { kinds: linked, gates: Object.fromEntries([...used].toSorted().map((gate) => [gate, counts[gate] ?? 0])) };
}

function linkStep(draft: DraftStep, kind: DraftKind, after: readonly string[], used: ReadonlySet<string>): Step {
  const { phase: _phase, ...step } = draft;
  const counts = gateOf(draft, kind);
  return { ...step, ...(after.length > 0 ? { after } : {}), ...(used.has(counts) ? { counts } : {}) };
}

function countSteps(kinds: readonly DraftKind[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const kind of kinds) {
    for (const step of kind.chain) {
      const gate = gateOf(step, kind);
      counts[gate] = (counts[gate] ?? 0) + countOf(kind.nodes);
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

function gatesOf(step: DraftStep, kind: DraftKind, kinds: readonly DraftKind[], desired: Desired): readonly string[] {
  const { action, service } = step;
  if (service === undefined || action === 'CREATE' || action === 'CONFIRM' || action === 'BOOTSTRAP' || action === 'DELETE') return [];
  const order = step.phase === 'up' ? desired.up : desired.down;
  const waited = order.waitsFor({ action, service } satisfies Point).map((point) =>
    step.phase === 'up' ? idOf(point) : gateId(step.phase, point.action, point.service));
  const reads = step.phase === 'up' && (action === 'CONFIGURE' || action === 'INITIALIZE' || action === 'START');
  return reads ? [...waited, ...addressGates(service, kinds, desired)] : waited;
}

/** CONFIRM of every node whose address the service may read. */
function addressGates(service: string, kinds: readonly DraftKind[], desired: Desired): readonly string[] {
  const scope = peerScope(desired.outlines, service);
  const groups = kinds.filter((kind) => scope === 'all' || kind.services.some((name) => scope.has(name))).map((kind) => kind.group);
  return groups.map((group) => gateId('up', 'CONFIRM', `@${group}`));
}

/** A node leaves only after every service that reads the nodes was configured without it. */
function drainGates(kind: DraftKind, desired: Desired): readonly string[] {
  if (kind.purpose !== 'remove' || desired.deleting) return [];
  return Object.entries(desired.outlines).flatMap(([name, outline]) =>
    readsPeers(outline) ? [gateId('up', 'CONFIGURE', name), gateId('up', 'START', name)] : []);
}
