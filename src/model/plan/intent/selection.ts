import type { NodeSummary, PlannedFacts } from '../facts/current.js';
import type { PlanContext, PlanningInput } from '../context.js';
import { nodeId } from '../../names.js';
import { indexesOf } from '../ranges.js';
import { PlanError } from '../plan-error.js';
import type { ServiceAction } from '../../action.js';

/** Names in a message, so many at most. */
const named = 10;

/** The nodes of a summary that an operation names; all of them when it names none. */
export function selectNodes(
  { group, nodes }: NodeSummary,
  ids: readonly string[] | undefined,
): readonly number[] {
  const indexes = indexesOf(nodes);
  if (ids === undefined) return indexes;
  const wanted = new Set(ids);
  return indexes.filter((index) => wanted.has(nodeId(group, index)));
}

/** Scripts can run on it: it was confirmed and not found gone, and no operation went on without it. */
export function isUsable({ facts }: NodeSummary): boolean {
  return isReachable(facts) && facts.excluded === undefined;
}

export function isReachable({ CONFIRM: confirmed, seen }: PlannedFacts): boolean {
  return confirmed === true && seen !== 'gone';
}

/** The services that a node has or is to have. */
export function servicesOn(input: PlanningInput, { group, facts }: NodeSummary): readonly string[] {
  return [...new Set([...(input.spec?.nodes[group]?.services ?? []), ...Object.keys(facts.services)])];
}

/** @throws PlanError if the list is empty, or names a node that does not exist. */
export function checkNodes({ intent, current }: PlanningInput, ids: readonly string[]): void {
  if (ids.length === 0)
    throw new PlanError(
      `${intent.kind} has an empty list of nodes; name at least one node, or omit the list to select all`,
    );
  const there = new Set(
    current.nodes.flatMap(({ group, nodes }) => indexesOf(nodes).map((index) => nodeId(group, index))),
  );
  const unknown = ids.filter((id) => !there.has(id));
  if (unknown.length > 0)
    throw new PlanError(
      `node ${listNames(unknown)} does not exist; the cluster has ${listNames([...there].toSorted())}`,
      { word: unknown[0] ?? '', known: [...there] },
    );
}

/**
 * The services that an operation selects: those it names, or all that have the action if it names none.
 * @throws PlanError if a service does not exist, does not declare the action, or is on none of the selected
 * nodes.
 */
export function meantServices(context: PlanContext, action: ServiceAction): readonly string[] {
  const { intent, outlines, current } = context;
  const { services: names = [] } = 'services' in intent ? intent : {};
  const nodes = 'nodes' in intent ? intent.nodes : undefined;
  const placed = new Set(
    current.nodes.flatMap((summary) =>
      selectNodes(summary, nodes).length === 0 ? [] : servicesOn(context, summary),
    ),
  );
  const able = Object.entries(outlines).flatMap(([name, { actions }]) =>
    actions.includes(action) ? [name] : [],
  );
  if (names.length === 0) return able.filter((name) => placed.has(name));
  for (const name of names) {
    if (!Object.hasOwn(outlines, name))
      throw new PlanError(
        `service ${name} does not exist; the cluster has ${listNames(Object.keys(outlines))}`,
        { word: name, known: Object.keys(outlines) },
      );
    if (!able.includes(name))
      throw new PlanError(
        `${intent.kind} requires the action ${action.toLowerCase()}, which service ${name} does not declare; services that do: ${listNames(able)}`,
      );
    if (!placed.has(name))
      throw new PlanError(
        `service ${name} is on ${nodes === undefined ? 'no node' : `none of the nodes ${listNames(nodes)}`}`,
      );
  }
  return names;
}

/** At most ten of the names. */
export function listNames(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length - named;
  return `${names.slice(0, named).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
