import { buildUp, removeServices, serviceSteps, tearDown, workBeside } from './build.js';
import type { NodeSummary, PlanningInput } from '../facts/current.js';
import type { Desired } from '../desired.js';
import { because, draft, type DraftKind, type DraftStep } from './draft.js';
import {
  probeAgain,
  missingNodes,
  replacementOf,
  splitByCount,
  type Replacement,
} from '../machines/machines.js';
import { nodeId } from '../../names.js';
import { indexesOf } from '../plan.js';
import { PlanError } from '../plan-error.js';
import { isTouched, servicesAfter } from '../intent/scope.js';

/** Excludes failed nodes if the cluster file allows the operation to continue without them. */
function isIncluded({ facts }: NodeSummary): boolean {
  return facts.excluded !== true;
}

/** apply, rollback and delete: bring every node to the spec, or remove it. */
export function draftSpec(input: PlanningInput, desired: Desired): readonly DraftKind[] {
  return [
    ...input.current.nodes.filter(isIncluded).flatMap((summary) => draftExisting(input, desired, summary)),
    ...draftNew(input, desired),
  ];
}

/**
 * replace: marked nodes get new machines, already replaced ones are brought up, and readers of their
 * addresses follow.
 */
export function draftReplace(
  input: PlanningInput,
  desired: Desired,
  named: readonly string[],
): readonly DraftKind[] {
  return input.current.nodes.filter(isIncluded).flatMap((summary) => {
    const ids = new Set(named);
    const indexes = indexesOf(summary.nodes);
    const { group, facts } = summary;
    const services = input.spec?.nodes[group]?.services ?? [];
    const meant = indexes.filter((index) => ids.has(nodeId(group, index)));
    checkStaying(input, summary, meant);
    const replacement = meant.length > 0 ? replacementOf(input, summary) : undefined;
    const kinds =
      replacement === undefined
        ? draft({
            group,
            purpose: facts.CREATE === undefined ? 'create' : 'update',
            indexes: meant,
            services,
            // Its services start with it, and follow no other.
            chain: meant.length === 0 ? [] : buildUp(input, { ...desired, following: new Map() }, summary),
          })
        : draftReplacement(input, desired, summary, meant, replacement);
    const others = indexes.filter((index) => !ids.has(nodeId(group, index)));
    return [
      ...kinds,
      ...draft({
        group,
        purpose: 'update',
        indexes: others,
        services,
        chain: followPeers(desired, summary, services),
      }),
    ];
  });
}

function checkStaying(input: PlanningInput, summary: NodeSummary, meant: readonly number[]): void {
  const { leaving } = splitByCount(input, summary);
  const index = meant.find((one) => leaving.includes(one));
  if (index !== undefined)
    throw new PlanError(
      `node ${nodeId(summary.group, index)} is no longer in the cluster's spec, so it cannot be replaced; apply the spec to remove it`,
    );
}

function draftExisting(input: PlanningInput, desired: Desired, summary: NodeSummary): readonly DraftKind[] {
  const { group, facts } = summary;
  const { staying, leaving } = splitByCount(input, summary);
  const left =
    leaving.length === 0
      ? []
      : draft({
          group,
          purpose: 'remove',
          indexes: leaving,
          services: [],
          chain: tearDown(desired, facts, 'down'),
        });
  if (staying.length === 0) return left;
  const replacement = replacementOf(input, summary);
  if (replacement !== undefined)
    return [...left, ...draftReplacement(input, desired, summary, staying, replacement)];
  const services = servicesAfter(input, summary);
  if (!isTouched(input, summary))
    return [
      ...left,
      ...draft({
        group,
        purpose: 'update',
        indexes: staying,
        services,
        chain: followPeers(desired, summary, services),
      }),
    ];
  const unconfirmed = probeAgain(input, facts);
  const up = buildUp(input, desired, { ...summary, facts: unconfirmed.facts });
  const chain = [...explained(up, facts, unconfirmed.why), ...removeServices(desired, facts, services)];
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
  input: PlanningInput,
  desired: Desired,
  summary: NodeSummary,
  indexes: readonly number[],
  { why }: Replacement,
): readonly DraftKind[] {
  const { group, facts } = summary;
  const empty = { ...summary, facts: { services: {} } };
  const services = servicesAfter(input, empty);
  const chain = because([...tearDown(desired, facts, 'replace'), ...buildUp(input, desired, empty)], why);
  const isPostponed = (index: number): boolean => desired.postponed.has(nodeId(group, index));
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

function draftNew(input: PlanningInput, desired: Desired): readonly DraftKind[] {
  return missingNodes(input).flatMap((node) =>
    draft({
      group: node.group,
      purpose: 'create',
      indexes: indexesOf(node.nodes),
      services: servicesAfter(input, node),
      chain: buildUp(input, desired, node),
    }),
  );
}

/** What a node does when others around it get new addresses, and nothing else. */
function followPeers(
  desired: Desired,
  { facts }: NodeSummary,
  services: readonly string[],
): readonly DraftStep[] {
  if (facts.CONFIRM === undefined || facts.seen === 'gone') return [];
  return serviceSteps(
    desired,
    facts,
    new Map(services.map((name) => [name, workBeside(desired, facts, name)])),
  );
}
