import { noWork, workToFollow, type ServiceWork } from './chain.js';
import type { ServiceOutline } from './dependencies.js';
import { buildUp, circumstancesOf, removeServices, serviceSteps, tearDown } from './build.js';
import type { NodeSummary, PlannedFacts, PlanningInput } from './current.js';
import type { Desired } from './desired.js';
import { because, draft, type DraftKind, type DraftStep } from './draft.js';
import { probeAgain, missingNodes, replacementOf, splitByCount, type Replacement } from './machines.js';
import { nodeId } from '../names.js';
import { indexesOf } from './plan.js';
import { PlanError } from './plan-error.js';
import { workToRestart } from './switch-work.js';

/** The operation goes on without nodes that failed where their cluster file says so. */
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
            chain:
              meant.length === 0 ? [] : buildUp(input, { ...desired, following: new Map() }, facts, services),
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
      `node ${nodeId(summary.group, index)} is not in the cluster's spec any more, so it cannot be replaced; apply the spec to remove it`,
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
  const services = input.spec?.nodes[group]?.services ?? [];
  const look = probeAgain(input, facts);
  const up = buildUp(input, desired, look.facts, services);
  const chain = [...explained(up, facts, look.why), ...removeServices(desired, facts, services)];
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

/** A look that is taken again is the reason for it, and for starting what ran before. */
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
  { group, facts }: NodeSummary,
  indexes: readonly number[],
  { why }: Replacement,
): readonly DraftKind[] {
  const services = input.spec?.nodes[group]?.services ?? [];
  const chain = because(
    [...tearDown(desired, facts, 'replace'), ...buildUp(input, desired, { services: {} }, services)],
    why,
  );
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
  return Object.entries(missingNodes(input)).flatMap(([group, missing]) => {
    const services = input.spec?.nodes[group]?.services ?? [];
    return missing.length === 0
      ? []
      : draft({
          group,
          purpose: 'create',
          indexes: missing,
          services,
          chain: buildUp(input, desired, { services: {} }, services),
        });
  });
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
    new Map(
      services.map((name) => {
        const outline = desired.outlines[name];
        return [name, outline === undefined ? noWork : workBeside(desired, facts, name, outline)];
      }),
    ),
  );
}

function workBeside(
  desired: Desired,
  facts: PlannedFacts,
  name: string,
  outline: ServiceOutline,
): ServiceWork {
  const found = facts.services[name] ?? {};
  const { follows, ...circumstances } = circumstancesOf(desired, name);
  const work = workToFollow(outline, desired.digests[name] ?? {}, found, circumstances);
  if (follows === undefined) return work;
  return { actions: [...new Set([...work.actions, ...workToRestart(outline, found)])], reason: follows };
}
