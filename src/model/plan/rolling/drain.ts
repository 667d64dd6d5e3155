import type { Action } from '../../action.js';
import { isReloaded, readsPeers } from '../work/service-work.js';
import type { PlannedFacts } from '../facts/current.js';
import type { PlanContext } from '../context.js';
import { withDependents } from '../order/dependencies.js';
import { draft, mergeKinds, type DraftKind, type DraftStep } from '../work/draft.js';
import { nodeId } from '../../names.js';
import { countOf, indexesOf } from '../ranges.js';
import { servicesAfter } from '../intent/scope.js';
import { isUsable } from '../intent/selection.js';

/*
 * A service that others route traffic to is rolled plan by plan: first all that disturbs neither it nor what
 * needs it; then, in each plan, one batch: the routers are configured without it, it is disturbed, and the
 * routers are configured with it again; then the rest.
 */

/** The part of a rolling plan that runs now; the rest is marked as `later`. */
export function stageDrains(context: PlanContext, kinds: readonly DraftKind[]): readonly DraftKind[] {
  const service = Object.keys(context.drains).find((name) => kinds.some((kind) => isRolled(kind, name)));
  if (service === undefined) return kinds;
  const waiting = new Set(withDependents(context.outlines, [service]));
  // A node leaves when those that read it are configured without it, so they do not wait for the batches.
  const removes = kinds.some(({ purpose }) => purpose === 'remove');
  const isReader = (name: string): boolean => {
    const outline = context.outlines[name];
    return name !== service && outline !== undefined && readsPeers(outline);
  };
  const isPostponed = ({ phase, service: of = '' }: DraftStep, kind: DraftKind): boolean =>
    phase === 'undrain' ||
    (phase === 'up' && waiting.has(of) && isDisturbed(kind, of) && !(removes && isReader(of)));
  const before = split(kinds, isPostponed);
  return before.now.length > 0 ? [...before.now, ...before.later] : stageBatch(context, kinds, service);
}

/** How many tasks of routers all batches of a plan take; its first batch is a part of it. */
export function routerTasks(context: PlanContext, kinds: readonly DraftKind[]): number {
  const tasksOf = (service: string): number => {
    const nodes = kinds
      .filter((kind) => isRolled(kind, service))
      .reduce((sum, kind) => sum + countOf(kind.nodes), 0);
    if (nodes === 0) return 0;
    const tasksOfBatch = context.current.nodes
      .filter(isUsable)
      .map(({ facts, nodes: routing }) => {
        const { drain, undrain } = routerSteps(context, facts, service, []);
        return countOf(routing) * (drain.length + undrain.length);
      })
      .reduce((sum, tasks) => sum + tasks, 0);
    return Math.ceil(nodes / (context.rolling?.widths[service] ?? nodes)) * tasksOfBatch;
  };
  return Object.keys(context.drains).reduce((sum, service) => sum + tasksOf(service), 0);
}

/** Configures routers with all nodes again, where an operation that was cut short left some out. */
export function undrain(context: PlanContext, facts: PlannedFacts): readonly DraftStep[] {
  return Object.entries(facts.services).flatMap(([name, { without }]) =>
    without === undefined ? [] : configureSteps(context, facts, name, { phase: 'undrain', without: [] }),
  );
}

function stageBatch(
  context: PlanContext,
  kinds: readonly DraftKind[],
  service: string,
): readonly DraftKind[] {
  const disturbed = kinds.filter((kind) => isRolled(kind, service));
  const nodes = disturbed.flatMap((kind) =>
    indexesOf(kind.nodes).map((index) => ({ id: nodeId(kind.group, index), kind })),
  );
  const batch = new Map(
    nodes.slice(0, context.rolling?.widths[service]).map(({ id, kind }) => [id, stepsIn(kind, service)]),
  );
  const now = context.current.nodes.filter(isUsable).flatMap((summary) => {
    const routing = routerSteps(context, summary.facts, service, [...batch.keys()]);
    return indexesOf(summary.nodes).flatMap((index) => {
      const own = batch.get(nodeId(summary.group, index)) ?? [];
      return draft({
        group: summary.group,
        purpose: 'update',
        indexes: [index],
        services: servicesAfter(context, summary),
        chain: [...routing.drain, ...own, ...routing.undrain],
      });
    });
  });
  return [...mergeKinds(now), ...remaining(kinds, service, batch)];
}

/** What is left when the batch is done. */
function remaining(
  kinds: readonly DraftKind[],
  service: string,
  batch: ReadonlyMap<string, unknown>,
): readonly DraftKind[] {
  return mergeKinds(
    kinds.flatMap((kind) => {
      const isIn = (index: number): boolean => batch.has(nodeId(kind.group, index));
      const indexes = indexesOf(kind.nodes);
      const rest = kind.chain.filter((step) => step.batchSlot !== service && step.phase !== 'undrain');
      const later = { ...kind, later: true as const };
      return [
        ...draft({ ...later, indexes: indexes.filter((index) => !isIn(index)) }),
        ...(rest.length === 0 ? [] : draft({ ...later, chain: rest, indexes: indexes.filter(isIn) })),
      ];
    }),
  );
}

function split(
  kinds: readonly DraftKind[],
  isPostponed: (step: DraftStep, kind: DraftKind) => boolean,
): { readonly now: readonly DraftKind[]; readonly later: readonly DraftKind[] } {
  const part = (kind: DraftKind, isMeant: (step: DraftStep) => boolean): DraftKind => ({
    ...kind,
    chain: kind.chain.filter(isMeant),
  });
  const now = kinds.map((kind) => part(kind, (step) => !isPostponed(step, kind)));
  const later = kinds.map((kind) => ({
    ...part(kind, (step) => isPostponed(step, kind)),
    later: true as const,
  }));
  const isBusy = ({ chain }: DraftKind): boolean => chain.length > 0;
  return { now: mergeKinds(now.filter(isBusy)), later: mergeKinds(later.filter(isBusy)) };
}

/**
 * The service runs on these nodes and goes down there. Nodes that join or leave, or get a service, do so at
 * once.
 */
function isDisturbed(kind: DraftKind, service: string): boolean {
  const stops = kind.chain.some(
    (step) => step.service === service && step.phase === 'up' && step.action === 'STOP',
  );
  return stops || isRolled(kind, service);
}

/** Whether the chain stops or starts the service in a batch slot. */
function isRolled({ chain, later }: DraftKind, service: string): boolean {
  return (
    later !== true &&
    chain.some(({ action, batchSlot }) => batchSlot === service && (action === 'STOP' || action === 'START'))
  );
}

/** The gates of the routers take the place of batch slots. */
function stepsIn({ chain }: DraftKind, service: string): readonly DraftStep[] {
  return chain
    .filter(({ batchSlot }) => batchSlot === service)
    .map(({ batchSlot: _slot, settleMs: _settle, ...step }) => step);
}

interface Routing {
  readonly drain: readonly DraftStep[];
  readonly undrain: readonly DraftStep[];
}

/** What the routers on a node do before and after a batch of the service. */
function routerSteps(
  context: PlanContext,
  facts: PlannedFacts,
  service: string,
  batch: readonly string[],
): Routing {
  const routers = (context.drains[service] ?? []).filter((name) => routes(context, facts, name));
  const settleMs = context.rolling?.settleMs[service];
  const configured = (change: Change): readonly DraftStep[] =>
    settled(
      routers.flatMap((name) => configureSteps(context, facts, name, change)),
      settleMs,
    );
  return {
    drain: configured({ phase: 'drain', without: batch }),
    undrain: configured({ phase: 'undrain', without: [] }),
  };
}

function settled(steps: readonly DraftStep[], settleMs: number | undefined): readonly DraftStep[] {
  if (settleMs === undefined) return steps;
  return steps.map((step, index) => (index === steps.length - 1 ? { ...step, settleMs } : step));
}

function routes({ outlines, held }: PlanContext, { services }: PlannedFacts, router: string): boolean {
  const { CONFIGURE, START } = services[router] ?? {};
  const starts = outlines[router]?.actions.includes('START') === true;
  return CONFIGURE !== undefined && (START !== undefined || !starts) && !held.has(router);
}

interface Change {
  readonly phase: 'drain' | 'undrain';
  readonly without: readonly string[];
}

function configureSteps(
  { outlines }: PlanContext,
  facts: PlannedFacts,
  service: string,
  { phase, without }: Change,
): readonly DraftStep[] {
  const outline = outlines[service];
  if (outline === undefined) return [];
  const reload = isReloaded(outline) && facts.services[service]?.START !== undefined;
  const reason = without.length === 0 ? 'all nodes are back' : `without ${named(without)}`;
  const step = (action: Action): DraftStep => ({ phase, action, service, without, repeats: true, reason });
  return [{ ...step('CONFIGURE'), ...(reload ? { reload } : {}) }, ...(reload ? [step('RELOAD')] : [])];
}

/** Names in a reason, so many at most. */
const mostNamed = 5;

function named(ids: readonly string[]): string {
  const more = ids.length - mostNamed;
  return `${ids.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
