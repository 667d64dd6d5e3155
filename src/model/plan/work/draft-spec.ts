import { buildUp, removeServices, serviceSteps, tearDown, workBeside } from './build.js';
import type { NodeSummary } from '../facts/current.js';
import type { PlanContext } from '../context.js';
import { because, draft, type DraftKind, type DraftStep } from './draft.js';
import {
  probeAgain,
  missingNodes,
  replacementOf,
  splitByCount,
  type Replacement,
} from '../machines/machines.js';
import { nodeId } from '../../names.js';
import { indexesOf } from '../ranges.js';
import { PlanError } from '../plan-error.js';
import { isTouched, servicesAfter } from '../intent/scope.js';

/** Excludes failed nodes if the cluster file allows the operation to continue without them. */
function isIncluded({ facts }: NodeSummary): boolean {
  return facts.excluded === undefined;
}

/** apply, rollback and delete: bring every node to the spec, or remove it. */
export function draftSpec(context: PlanContext): readonly DraftKind[] {
  return [
    ...context.current.nodes.filter(isIncluded).flatMap((summary) => draftExisting(context, summary)),
    ...draftNew(context),
  ];
}

/**
 * replace: marked nodes get new machines, already replaced ones are brought up, and readers of their
 * addresses follow.
 */
export function draftReplace(context: PlanContext, named: readonly string[]): readonly DraftKind[] {
  return context.current.nodes.filter(isIncluded).flatMap((summary) => {
    const ids = new Set(named);
    const indexes = indexesOf(summary.nodes);
    const { group, facts } = summary;
    const services = context.spec?.nodes[group]?.services ?? [];
    const meant = indexes.filter((index) => ids.has(nodeId(group, index)));
    checkStaying(context, summary, meant);
    const replacement = meant.length > 0 ? replacementOf(context, summary) : undefined;
    const kinds =
      replacement === undefined
        ? draft({
            group,
            purpose: facts.CREATE === undefined ? 'create' : 'update',
            indexes: meant,
            services,
            // Its services start with it, and follow no other.
            chain: meant.length === 0 ? [] : buildUp({ ...context, following: new Map() }, summary),
          })
        : draftReplacement(context, summary, meant, replacement);
    const others = indexes.filter((index) => !ids.has(nodeId(group, index)));
    return [
      ...kinds,
      ...draft({
        group,
        purpose: 'update',
        indexes: others,
        services,
        chain: followPeers(context, summary, services),
      }),
    ];
  });
}

function checkStaying(context: PlanContext, summary: NodeSummary, meant: readonly number[]): void {
  const { leaving } = splitByCount(context, summary);
  const index = meant.find((one) => leaving.includes(one));
  if (index !== undefined)
    throw new PlanError(
      `node ${nodeId(summary.group, index)} is no longer in the cluster's spec, so it cannot be replaced; apply the spec to remove it`,
    );
}

function draftExisting(context: PlanContext, summary: NodeSummary): readonly DraftKind[] {
  const { group, facts } = summary;
  const { staying, leaving } = splitByCount(context, summary);
  const left =
    leaving.length === 0
      ? []
      : draft({
          group,
          purpose: 'remove',
          indexes: leaving,
          services: [],
          chain: tearDown(context, facts, 'down'),
        });
  if (staying.length === 0) return left;
  const replacement = replacementOf(context, summary);
  if (replacement !== undefined)
    return [...left, ...draftReplacement(context, summary, staying, replacement)];
  const services = servicesAfter(context, summary);
  if (!isTouched(context, summary))
    return [
      ...left,
      ...draft({
        group,
        purpose: 'update',
        indexes: staying,
        services,
        chain: followPeers(context, summary, services),
      }),
    ];
  const unconfirmed = probeAgain(context, facts);
  const up = buildUp(context, { ...summary, facts: unconfirmed.facts });
  const chain = [...explained(up, facts, unconfirmed.why), ...removeServices(context, facts, services)];
  return [
    ...left,
    ...draft({
      group,
      purpose: facts.CREATE === undefined ? 'create' : 'update',
      indexes: staying,
      services,
      chain,
    }),
  ];
}

/** Adds the reason of a repeated CONFIRM to it, and to the start of services that ran before. */
function explained(
  up: readonly DraftStep[],
  { services }: NodeSummary['facts'],
  why: string | undefined,
): readonly DraftStep[] {
  if (why === undefined) return up;
  return because(up, why).map((step) => {
    const ran =
      step.action === 'START' && step.service !== undefined && services[step.service]?.START !== undefined;
    return ran && step.reason === undefined ? { ...step, reason: why } : step;
  });
}

/** The whole way down and up again. */
function draftReplacement(
  context: PlanContext,
  summary: NodeSummary,
  indexes: readonly number[],
  { why }: Replacement,
): readonly DraftKind[] {
  const { group, facts } = summary;
  const empty = { ...summary, facts: { services: {} } };
  const services = servicesAfter(context, empty);
  const chain = because([...tearDown(context, facts, 'replace'), ...buildUp(context, empty)], why);
  const isPostponed = (index: number): boolean => context.postponed.has(nodeId(group, index));
  return [
    ...draft({
      group,
      purpose: 'replace',
      indexes: indexes.filter((index) => !isPostponed(index)),
      services,
      chain,
    }),
    ...draft({
      group,
      purpose: 'replace',
      indexes: indexes.filter(isPostponed),
      services,
      chain,
      later: true,
    }),
  ];
}

function draftNew(context: PlanContext): readonly DraftKind[] {
  return missingNodes(context).flatMap((node) =>
    draft({
      group: node.group,
      purpose: 'create',
      indexes: indexesOf(node.nodes),
      services: servicesAfter(context, node),
      chain: buildUp(context, node),
    }),
  );
}

/** What a node does when others around it get new addresses, and nothing else. */
function followPeers(
  context: PlanContext,
  { facts }: NodeSummary,
  services: readonly string[],
): readonly DraftStep[] {
  if (facts.CONFIRM === undefined || facts.seen === 'gone') return [];
  return serviceSteps(
    context,
    facts,
    new Map(services.map((name) => [name, workBeside(context, facts, name)])),
  );
}
