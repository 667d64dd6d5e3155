import { bringsToSpec } from '../../model/plan/intent/intent.js';
import { sizeOf } from '../../model/cluster/group.js';
import type { Operation } from '../../model/cluster/operation.js';
import { taskTitle } from '../../model/names.js';
import { servicesOf } from '../../model/cluster/state.js';
import type { NodeState } from '../../model/node/state.js';
import { forgetRemoved } from './carried-nodes.js';
import { changeOperation, dropNode, type Memory } from './memory.js';
import { change } from '../entity.js';

/** How an operation ends whose tasks have all ended. */
export function settleOperation(memory: Memory): 'done' | 'failed' | 'held' {
  const { operation } = memory.state;
  const { holding, inGroups } = failuresOf(memory);
  // Nodes that an earlier operation went on without are not its own.
  const excluded = operation?.missing?.count ?? 0;
  if (operation?.kind === 'exec') {
    // Tasks of a lost group have not even failed.
    const count = Math.max(operation.tasks.failed, holding.length + inGroups);
    if (count === 0) return 'done';
    changeOperation(memory, { reason: operation.reason ?? reasonOf(operation, count) });
    return 'failed';
  }
  if (holding.length + inGroups === 0) {
    tidy(memory);
    if (excluded === 0) return 'done';
    const all = nodeCount(memory);
    const what = excluded === 1 ? 'a node' : `${excluded} nodes`;
    const left = excluded < all ? `went on without ${what}` : 'no node is left';
    changeOperation(memory, { reason: `${left}: ${reasonOf(operation, excluded)}` });
    return excluded < all ? 'done' : 'failed';
  }
  changeOperation(memory, { reason: operation?.reason ?? reasonOf(operation, holding.length + inGroups) });
  return 'held';
}

/** Nodes failed that the operation did not go on without. */
export function isHeldByFailures(memory: Memory): boolean {
  const { holding, inGroups } = failuresOf(memory);
  return holding.length + inGroups > 0;
}

/** Why machines of a cancelled operation are still there; undefined if none is. */
export function undeletedText(memory: Memory): string | undefined {
  const { operation } = memory.state;
  const { failed, inGroups } = failuresOf(memory);
  const failures = operation?.failures?.filter(({ action }) => action === 'DELETE');
  const count = failed.filter(({ failure }) => failure?.action === 'DELETE').length + inGroups;
  return count === 0 || operation === undefined ? undefined : reasonOf({ ...operation, failures }, count);
}

/** Nodes that failed, and hold the operation or not. */
function failuresOf({ state: { nodes, groups } }: Memory): {
  readonly failed: readonly NodeState[];
  readonly holding: readonly NodeState[];
  readonly inGroups: number;
} {
  const failed = Object.values(nodes).filter((node) => node.failure !== undefined);
  return {
    failed,
    holding: failed.filter((node) => node.excluded === undefined),
    inGroups: Object.values(groups).reduce((sum, group) => sum + group.failed, 0),
  };
}

function nodeCount({ state: { nodes, groups } }: Memory): number {
  const inline = Object.keys(nodes).length;
  return Object.values(groups).reduce((sum, { members }) => sum + sizeOf(members), inline);
}

/** The first failure that holds the operation, or the first at all. */
function reasonOf(operation: Operation | undefined, count: number): string {
  const { failures = [] } = operation ?? {};
  const first = failures.find(({ tolerated }) => tolerated !== true) ?? failures[0];
  if (first === undefined) return 'a task failed';
  const { action, nodeId, service, message } = first;
  const title = taskTitle(action, nodeId, service);
  const what = message.startsWith(`${title}: `) ? message.slice(title.length + 2) : message;
  const where = service === undefined ? `${action} of ${nodeId}` : `${action} of ${service} on ${nodeId}`;
  return `${where} failed: ${what}${count > 1 ? ` (and ${count - 1} more ${count === 2 ? 'node' : 'nodes'} failed)` : ''}`;
}

/** What it took off is not needed by any operation that follows. Until then a rollback may need it. */
export function hasSettledServices(operation: Pick<Operation, 'kind' | 'state'> | undefined): boolean {
  return operation?.state === 'done' && changesServices(operation.kind);
}

function changesServices(kind: Operation['kind'] | undefined): boolean {
  return bringsToSpec(kind) || kind === 'delete';
}

/** Forgets removed nodes, and services that no node has; groups do so when the next operation begins. */
function tidy(memory: Memory): void {
  if (!changesServices(memory.state.operation?.kind)) return;
  for (const node of Object.values(memory.state.nodes)) {
    // A machine that could not be deleted keeps its node, so that the next apply tries again.
    if (node.leaving === true && node.facts.machine === undefined) dropNode(memory, node.nodeId);
  }
  forgetRemoved(memory, servicesOf(memory.state));
  const inGroups = Object.values(memory.state.groups).flatMap(({ rows }) => rows);
  const installed = new Set(
    [...Object.values(memory.state.nodes), ...inGroups].flatMap(({ facts }) => Object.keys(facts.services)),
  );
  const retired = Object.entries(memory.state.retired).filter(([name]) => installed.has(name));
  change(memory, {
    retired: Object.fromEntries(retired),
    stopped: memory.state.stopped.filter((name) => memory.state.spec?.services[name] !== undefined),
  });
}
