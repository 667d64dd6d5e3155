import type { Action } from '../../action.js';
import { nodeId } from '../../names.js';
import type { NodeSummary } from '../facts/current.js';
import type { PlanningInput, Scope } from '../context.js';
import { directRequirements, type Outlines, type ServiceOutline } from '../order/dependencies.js';
import { indexesOf, rangesOf } from '../ranges.js';
import { PlanError } from '../plan-error.js';
import { listNames } from './selection.js';

/** One node, or several with equal facts; only their group, first id and facts matter here. */
type Member = Pick<NodeSummary, 'group' | 'facts' | 'nodes'>;

/**
 * A limited apply as planning sees it: nodes inside and outside of the scope are in rows of their own.
 * @throws PlanError when it names a node or service that is neither in the cluster nor in the spec.
 */
export function limitToScope(input: PlanningInput, outlines: Outlines): PlanningInput {
  const { intent, current } = input;
  if (intent.kind !== 'apply' || (intent.nodes === undefined && intent.services === undefined)) return input;
  if (input.again !== true) checkNames(input, outlines);
  const nodes = intent.nodes && new Set(intent.nodes);
  const services = intent.services && new Set(intent.services);
  const rows = current.nodes.flatMap((row) => splitRow(row, nodes));
  const meant = [...onChosenNodes(input, nodes)].filter((name) => services?.has(name) ?? true);
  if (services !== undefined && meant.length === 0 && input.again !== true)
    throw new PlanError(
      `none of the services ${listNames([...services])} is on ${nodes === undefined ? 'a node' : `the nodes ${listNames([...nodes])}`}`,
    );
  const scope: Scope = { nodes, services, required: requiredBy(outlines, meant), outlines };
  return { ...input, current: { ...current, nodes: rows }, scope };
}

/** Whether the machine of a node is in the scope, with everything on it. */
export function isWholeNode({ scope }: PlanningInput, id: string): boolean {
  return scope === undefined || (scope.services === undefined && scope.nodes?.has(id) === true);
}

/** Whether the plan brings a service on these nodes to the spec. */
export function isInScope(input: PlanningInput, { group, nodes, facts }: Member, service: string): boolean {
  const { scope } = input;
  if (scope === undefined) return true;
  const isChosen = scope.nodes?.has(nodeId(group, nodes[0]?.[0] ?? 0)) ?? true;
  if (isChosen && (scope.services?.has(service) ?? true)) return true;
  const isRequired = scope.required.has(service) && wantedIn(input, group).includes(service);
  return isRequired && !isUp(scope.outlines[service], facts.services[service] ?? {});
}

/** Whether anything on these nodes is in the scope. */
export function isTouched(input: PlanningInput, member: Member): boolean {
  const { group, nodes, facts } = member;
  if (isWholeNode(input, nodeId(group, nodes[0]?.[0] ?? 0))) return true;
  const names = [...wantedIn(input, group), ...Object.keys(facts.services)];
  return names.some((name) => isInScope(input, member, name));
}

/** The services that these nodes have when the plan is done. */
export function servicesAfter(input: PlanningInput, member: Member): readonly string[] {
  const { scope } = input;
  const wanted = wantedIn(input, member.group);
  if (scope === undefined) return wanted;
  const present = Object.keys(member.facts.services);
  const staying = present.filter((name) => !wanted.includes(name) && !isInScope(input, member, name));
  // No task brings a service without actions to a node.
  const isThere = (name: string): boolean =>
    present.includes(name) || startActions(scope.outlines[name]).length === 0;
  return [...wanted.filter((name) => isThere(name) || isInScope(input, member, name)), ...staying];
}

function wantedIn({ spec }: PlanningInput, group: string): readonly string[] {
  return spec?.nodes[group]?.services ?? [];
}

/** An action of each kind that brings it up was done, with any script. */
function isUp(outline: ServiceOutline | undefined, facts: NodeSummary['facts']['services'][string]): boolean {
  return facts.begun !== 'STOP' && startActions(outline).every((action) => facts[action] !== undefined);
}

const upActions = ['INSTALL', 'CONFIGURE', 'INITIALIZE', 'START'] as const;

function startActions(outline: ServiceOutline | undefined): readonly (typeof upActions)[number][] {
  const declared: readonly Action[] = outline?.actions ?? [];
  return upActions.filter((action) => declared.includes(action));
}

/** A row of the chosen nodes, and one of the others. */
export function splitRow(row: NodeSummary, chosen: ReadonlySet<string> | undefined): readonly NodeSummary[] {
  if (chosen === undefined) return [row];
  const isChosen = (index: number): boolean => chosen.has(nodeId(row.group, index));
  const indexes = indexesOf(row.nodes);
  return [indexes.filter(isChosen), indexes.filter((index) => !isChosen(index))]
    .filter((part) => part.length > 0)
    .map((part) => ({ ...row, nodes: rangesOf(part) }));
}

function requiredBy(outlines: Outlines, services: readonly string[]): ReadonlySet<string> {
  const required = new Set<string>();
  const open = services.flatMap((name) => directRequirements(outlines, name));
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (required.has(name)) continue;
    required.add(name);
    open.push(...directRequirements(outlines, name));
  }
  return required;
}

/** The services that the chosen nodes have or are to have. */
function onChosenNodes(input: PlanningInput, chosen: ReadonlySet<string> | undefined): ReadonlySet<string> {
  const isChosen = (group: string, indexes: readonly number[]): boolean =>
    chosen === undefined || indexes.some((index) => chosen.has(nodeId(group, index)));
  return new Set([
    ...Object.entries(input.spec?.nodes ?? {}).flatMap(([group, { count, services }]) =>
      isChosen(group, indexesOf([[1, count]])) ? services : [],
    ),
    ...input.current.nodes.flatMap(({ group, nodes, facts }) =>
      isChosen(group, indexesOf(nodes)) ? Object.keys(facts.services) : [],
    ),
  ]);
}

function checkNames({ intent, spec, current }: PlanningInput, outlines: Outlines): void {
  if (intent.kind !== 'apply') return;
  const groups = [
    ...Object.entries(spec?.nodes ?? {}).map(([group, { count }]) => ({
      group,
      nodes: [[1, count]] as const,
    })),
    ...current.nodes,
  ];
  const ids = groups.flatMap(({ group, nodes }) => indexesOf(nodes).map((index) => nodeId(group, index)));
  refuseUnknown('node', intent.nodes ?? [], [...new Set(ids)].toSorted());
  refuseUnknown('service', intent.services ?? [], Object.keys(outlines));
}

function refuseUnknown(noun: string, names: readonly string[], known: readonly string[]): void {
  const there = new Set(known);
  const name = names.find((one) => !there.has(one));
  if (name !== undefined)
    throw new PlanError(
      `${noun} ${name} exists neither in the cluster nor in its file; existing: ${listNames(known)}`,
      { word: name, known },
    );
}
