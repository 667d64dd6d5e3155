import { serviceActionKeys, type ServiceAction } from './action.js';
import {
  digestsOf, peerScope, readsPeers, workToRemove, workToRun, type PlannedFacts, type ServiceDigests,
} from './chain.js';
import type { Outlines, ServiceOutline } from './dependencies.js';
import { linkGates, type DraftKind, type DraftStep } from './gates.js';
import type { Json } from './json.js';
import { downOrder, upOrder, type Order } from './order.js';
import { countOf, indexesOf, rangesOf, type Plan, type PlannedPlacement, type Purpose, type Range } from './plan.js';
import type { ClusterSpec, ServiceSpec } from './spec.js';

/** The nodes of a cluster as planning sees them: those with equal facts together. */
export interface NodeSummary {
  readonly group: string;
  readonly nodes: readonly Range[];
  readonly facts: PlannedFacts;
}

export interface CurrentCluster {
  readonly nodes: readonly NodeSummary[];
  /** Services that stand on some node. */
  readonly services: Outlines;
}

export const emptyCluster: CurrentCluster = { nodes: [], services: {} };

export interface PlanningInput {
  /** What the cluster should be; absent: nothing, delete all of it. */
  readonly spec?: ClusterSpec;
  readonly current: CurrentCluster;
  /** By group, in the order they are to be tried. */
  readonly placements: Readonly<Record<string, readonly PlannedPlacement[]>>;
  /** Digest of the automators that prepare a node with these services. */
  readonly bootstrapDigest: (services: readonly string[]) => string;
  readonly digest: (value: Json) => string;
}

/**
 * Plans what brings the current cluster to the spec. Pure and deterministic; linear in kinds of nodes.
 * @throws Error when services wait for each other in a circle.
 */
export function planOperation(input: PlanningInput): Plan {
  const outlines = { ...input.current.services, ...outlinesOf(input.spec) };
  const desired = desiredServices(input, outlines);
  const drafts = input.current.nodes.flatMap((summary) => draftExisting(input, desired, summary));
  const kinds = mergeKinds([...drafts, ...draftNew(input, desired)]);
  const linked = linkGates(kinds, desired);
  return { ...linked, placements: input.placements, ...(input.spec === undefined ? {} : { spec: input.spec }) };
}

export function outlineOf(service: ServiceSpec): ServiceOutline {
  const keys = Object.keys(service.actions) as (keyof typeof serviceActionKeys)[];
  return {
    provides: service.provides, install: service.install, runtime: service.runtime, peers: service.peers,
    onPeersChange: service.onPeersChange, actions: keys.map((key) => serviceActionKeys[key]),
  };
}

/** What the whole cluster should be, worked out once for all kinds. */
export interface Desired {
  readonly outlines: Outlines;
  readonly digests: Readonly<Record<string, ServiceDigests>>;
  readonly up: Order;
  readonly down: Order;
  /** Services of nodes that join, leave or are replaced in this plan. */
  readonly membershipChange: ReadonlySet<string>;
  readonly anyMembershipChange: boolean;
  readonly deleting: boolean;
}

function outlinesOf(spec: ClusterSpec | undefined): Outlines {
  return Object.fromEntries(Object.entries(spec?.services ?? {}).map(([name, service]) => [name, outlineOf(service)]));
}

function desiredServices(input: PlanningInput, outlines: Outlines): Desired {
  const digests = Object.fromEntries(Object.entries(input.spec?.services ?? {}).map(([name, service]) => {
    const actions = service.actions as Readonly<Record<string, Json>>;
    return [name, digestsOf(actions, serviceActionKeys, input.spec?.config ?? {}, input.digest)];
  }));
  const changed = changedMembership(input);
  return {
    outlines, digests, up: upOrder(outlines), down: downOrder(outlines),
    membershipChange: changed.services, anyMembershipChange: changed.any, deleting: input.spec === undefined,
  };
}

function changedMembership(input: PlanningInput): { readonly services: ReadonlySet<string>; readonly any: boolean } {
  const services = new Set<string>();
  let any = false;
  const note = (names: readonly string[]): void => {
    any = true;
    for (const name of names) services.add(name);
  };
  for (const summary of input.current.nodes) {
    const wanted = input.spec?.groups[summary.group]?.services ?? [];
    const present = Object.keys(summary.facts.services);
    const { staying, leaving } = splitByCount(input, summary);
    if (leaving.length > 0) note(present);
    if (staying.length === 0) continue;
    if (needsMachine(input, summary)) note(wanted);
    const difference = [...wanted.filter((name) => !present.includes(name)), ...present.filter((name) => !wanted.includes(name))];
    if (difference.length > 0) note(difference);
  }
  for (const [group, { services: wanted }] of Object.entries(input.spec?.groups ?? {})) {
    if (missingIndexes(input, group).length > 0) note(wanted);
  }
  return { services, any };
}

function splitByCount(input: PlanningInput, summary: NodeSummary): { readonly staying: readonly number[]; readonly leaving: readonly number[] } {
  const count = input.spec?.groups[summary.group]?.count ?? 0;
  const indexes = indexesOf(summary.nodes);
  return { staying: indexes.filter((index) => index <= count), leaving: indexes.filter((index) => index > count) };
}

function missingIndexes(input: PlanningInput, group: string): readonly number[] {
  const present = new Set(input.current.nodes.filter((summary) => summary.group === group).flatMap(({ nodes }) => indexesOf(nodes)));
  const count = input.spec?.groups[group]?.count ?? 0;
  return Array.from({ length: count }, (_, offset) => offset + 1).filter((index) => !present.has(index));
}

/** The node's machine does not fit the spec any more, or was never confirmed. */
function needsMachine(input: PlanningInput, { group, facts }: NodeSummary): boolean {
  return facts.CONFIRM === undefined || isMisplaced(input, group, facts);
}

function isMisplaced(input: PlanningInput, group: string, facts: PlannedFacts): boolean {
  const wanted = input.placements[group] ?? [];
  return facts.machine !== undefined && !wanted.some(({ digest }) => digest === facts.machine);
}

function draftExisting(input: PlanningInput, desired: Desired, summary: NodeSummary): readonly DraftKind[] {
  const { staying, leaving } = splitByCount(input, summary);
  const drafts: DraftKind[] = [];
  if (leaving.length > 0) drafts.push(draft(summary.group, 'remove', leaving, tearDown(desired, summary.facts, 'down'), []));
  if (staying.length === 0) return drafts;
  const services = input.spec?.groups[summary.group]?.services ?? [];
  if (isMisplaced(input, summary.group, summary.facts)) {
    const chain = [...tearDown(desired, summary.facts, 'replace'), ...buildUp(input, desired, { services: {} }, services)];
    return [...drafts, draft(summary.group, 'replace', staying, chain, services)];
  }
  const removed = serviceRemoval(desired, summary.facts, services);
  const chain = [...buildUp(input, desired, summary.facts, services), ...removed];
  const purpose = summary.facts.CREATE === undefined ? 'create' : 'update';
  return [...drafts, draft(summary.group, purpose, staying, chain, services)];
}

function draftNew(input: PlanningInput, desired: Desired): readonly DraftKind[] {
  return Object.entries(input.spec?.groups ?? {}).flatMap(([group, { services }]) => {
    const missing = missingIndexes(input, group);
    return missing.length === 0 ? [] : [draft(group, 'create', missing, buildUp(input, desired, { services: {} }, services), services)];
  });
}

function draft(group: string, purpose: Purpose, indexes: readonly number[], chain: readonly DraftStep[], services: readonly string[]): DraftKind {
  return { group, purpose, nodes: rangesOf(indexes), chain, services };
}

function buildUp(input: PlanningInput, desired: Desired, facts: PlannedFacts, services: readonly string[]): readonly DraftStep[] {
  const steps: DraftStep[] = [];
  const work = new Map(services.map((name) => [name, serviceWork(desired, facts, name)]));
  for (const { action, service } of desired.up.points) {
    const todo = work.get(service);
    if (todo?.actions.includes(action) !== true) continue;
    const digest = desired.digests[service]?.[action];
    steps.push({
      phase: 'up', action, service,
      ...(digest === undefined ? {} : { digest }), ...(todo.reason === undefined ? {} : { reason: todo.reason }),
    });
  }
  const bootstrap = input.bootstrapDigest(services);
  const prepare: DraftStep[] = [];
  if (facts.CREATE === undefined) prepare.push({ phase: 'up', action: 'CREATE' });
  if (facts.CONFIRM === undefined) prepare.push({ phase: 'up', action: 'CONFIRM' });
  // A node that gets new software is prepared again when the automators changed since.
  const prepared = facts.BOOTSTRAP !== undefined && (steps.length === 0 || facts.BOOTSTRAP === bootstrap);
  if (!prepared) prepare.push({ phase: 'up', action: 'BOOTSTRAP', digest: bootstrap });
  return [...prepare, ...steps];
}

function serviceWork(desired: Desired, facts: PlannedFacts, name: string): ReturnType<typeof workToRun> {
  const outline = desired.outlines[name];
  if (outline === undefined) return { actions: [] };
  const scope = peerScope(desired.outlines, name);
  const inScope = scope === 'all' ? desired.anyMembershipChange : [...scope].some((other) => desired.membershipChange.has(other));
  return workToRun(outline, desired.digests[name] ?? {}, facts.services[name] ?? {}, inScope && readsPeers(outline));
}

/** STOP and REMOVE of all that is there, then DELETE. A machine without an address can only be deleted. */
function tearDown(desired: Desired, facts: PlannedFacts, phase: 'down' | 'replace'): readonly DraftStep[] {
  const tolerant = desired.deleting ? { mayFail: true as const } : {};
  const services = facts.CONFIRM === true ? Object.keys(facts.services) : [];
  const steps = removalSteps(desired, facts, services, phase).map((step) => ({ ...step, ...tolerant }));
  return facts.machine === undefined ? steps : [...steps, { phase, action: 'DELETE' }];
}

function serviceRemoval(desired: Desired, facts: PlannedFacts, wanted: readonly string[]): readonly DraftStep[] {
  const gone = Object.keys(facts.services).filter((name) => !wanted.includes(name));
  return facts.CONFIRM === true ? removalSteps(desired, facts, gone, 'down') : [];
}

function removalSteps(desired: Desired, facts: PlannedFacts, services: readonly string[], phase: 'down' | 'replace'): readonly DraftStep[] {
  const work = new Map<string, readonly ServiceAction[]>(services.map((name) => {
    const outline = desired.outlines[name];
    return [name, outline === undefined ? [] : workToRemove(outline, facts.services[name] ?? {})];
  }));
  return desired.down.points
    .filter(({ action, service }) => work.get(service)?.includes(action) === true)
    .map(({ action, service }) => ({ phase, action, service }));
}

/** Kinds that do the same become one; kinds with nothing to do are left out. */
function mergeKinds(kinds: readonly DraftKind[]): readonly DraftKind[] {
  const merged = new Map<string, DraftKind>();
  for (const kind of kinds) {
    if (kind.chain.length === 0 && kind.purpose !== 'remove') continue;
    const key = JSON.stringify([kind.group, kind.purpose, kind.chain]);
    const same = merged.get(key);
    const indexes = [...(same === undefined ? [] : indexesOf(same.nodes)), ...indexesOf(kind.nodes)].toSorted((a, b) => a - b);
    merged.set(key, { ...kind, nodes: rangesOf(indexes) });
  }
  return [...merged.values()].filter((kind) => countOf(kind.nodes) > 0);
}
