import { bringsToSpec } from '../plan/intent/intent.js';
import { groupWorkflowId } from '../names.js';
import { sizeOf, type NodeGroup } from './group.js';
import type { NodeState } from '../node/state.js';
import { endedStates } from './operation.js';
import { describedCounts } from './scaled.js';
import type { ServiceSpec } from './spec.js';
import { servicesOf, specBefore, type ClusterState } from './state.js';
import type { ClusterStatus, GroupStatus, NodeStatus } from '../../schema/output/status.js';
import { stripSecrets } from '../node/strip-secrets.js';
import type { NodesState } from './work.js';

/** The phase of a cluster. For people only. */
export function phaseOf(state: ClusterState): ClusterStatus['phase'] {
  const {
    operation,
    history: [last],
  } = state;
  if (operation === undefined) {
    if (last?.kind === 'delete' && last.state === 'done') return 'deleted';
    // A command that failed leaves the cluster as it was.
    return last?.state === 'failed' && last.kind !== 'exec' ? 'failed' : 'idle';
  }
  if (operation.state === 'held') return 'held';
  if (operation.paused !== undefined) return 'paused';
  if (operation.kind === 'delete') return 'deleting';
  return bringsToSpec(operation.kind) ? 'applying' : 'operating';
}

export function statusOf(state: ClusterState): ClusterStatus {
  const nodes = Object.values(state.nodes)
    .map((node) =>
      nodeStatus(node, { paused: state.operation?.paused !== undefined, services: servicesOf(state) }),
    )
    .toSorted((a, b) => a.nodenum - b.nodenum);
  const services = Object.fromEntries(
    Object.keys(servicesOf(state)).map((name) => [
      name,
      { nodes: nodes.filter((node) => node.services.includes(name)).map((node) => node.nodeId) },
    ]),
  );
  const every = state.spec?.repair.every;
  return {
    name: state.name,
    uid: state.uid,
    phase: phaseOf(state),
    operation: state.operation,
    lease: state.lease,
    queued: state.queue.map((queued) => queued.operation),
    history: state.history,
    revisions: state.revisions,
    ...scaledStatus(state),
    nodes,
    services,
    ...(state.spec?.labels === undefined ? {} : { labels: state.spec.labels }),
    ...(specBefore(state) === undefined ? {} : { earlierSpec: true as const }),
    ...(state.spec?.lock === true ? { locked: true as const } : {}),
    ...readersOf(state),
    stopped: state.stopped,
    checks: { ...state.checks, ...(every === undefined ? {} : { every }) },
    plugins: state.plugins,
    ...(Object.keys(state.groups).length === 0
      ? {}
      : { groups: Object.entries(state.groups).map(([id, group]) => groupStatus(state.name, id, group)) }),
  };
}

function scaledStatus({
  spec,
  scaled,
}: Pick<ClusterState, 'spec' | 'scaled'>): Pick<ClusterStatus, 'scaled'> {
  const counts = spec === undefined ? {} : describedCounts(spec, scaled);
  return Object.keys(counts).length === 0 ? {} : { scaled: counts };
}

function readersOf({ readers = {} }: ClusterState): Pick<ClusterStatus, 'readers'> {
  const entries = Object.entries(readers).map(([cluster, values]) => [cluster, Object.keys(values)] as const);
  return entries.length === 0 ? {} : { readers: Object.fromEntries(entries) };
}

function groupStatus(cluster: string, id: string, { members, failed, lost }: NodeGroup): GroupStatus {
  return { group: id, workflowId: groupWorkflowId(cluster, id), nodes: sizeOf(members), failed, lost };
}

interface NodeContext {
  /** No task of the node's operation starts. */
  readonly paused: boolean;
  readonly services: Services;
}
type Services = Readonly<Record<string, ServiceSpec>>;

export function nodeStatus(node: NodeState, { paused, services: known }: NodeContext): NodeStatus {
  const text = (key: string): string | undefined =>
    typeof node.payload[key] === 'string' ? node.payload[key] : undefined;
  const providerid = text('providerid');
  const ipaddress = text('ipaddress');
  const { nodeId, group, nodenum, hostname, incarnation, services } = node;
  return {
    nodeId,
    group,
    nodenum,
    hostname,
    incarnation,
    services,
    provider: node.placement?.provider,
    site: node.placement?.site,
    providerid,
    ipaddress,
    running: services.filter((name) => node.facts.services[name]?.START !== undefined),
    state: stateOf(node, known),
    payload: stripSecrets(node.payload),
    current: paused && node.current?.state === 'queued' ? { ...node.current, state: 'paused' } : node.current,
    failure: node.failure,
    health: node.health,
    checkedAt: node.checkedAt,
    ...(node.drift === undefined || node.facts.seen === undefined ? {} : { drift: node.drift }),
  };
}

function stateOf(node: NodeState, services: Services): NodeStatus['state'] {
  if (node.failure !== undefined) return 'failed';
  if (node.leaving === true) return 'leaving';
  if (node.current !== undefined) return 'working';
  if (node.facts.CONFIRM !== true) return 'new';
  if (node.facts.seen !== undefined) return 'drifted';
  return node.services.every((name) => wasBroughtUp(node, name, services[name])) ? 'ready' : 'incomplete';
}

/**
 * Its INSTALL and CONFIGURE are done, and no START failed; of a service without INSTALL and CONFIGURE,
 * anything is done. A user may have stopped it since.
 */
function wasBroughtUp({ facts }: NodeState, name: string, service: ServiceSpec | undefined): boolean {
  const { install, configure, initialize, start } = service?.actions ?? {};
  const done = facts.services[name];
  if (done?.begun === 'START' && done.START === undefined) return false;
  if (install !== undefined || configure !== undefined)
    return (
      (install === undefined || done?.INSTALL !== undefined) &&
      (configure === undefined || done?.CONFIGURE !== undefined)
    );
  return (initialize === undefined && start === undefined) || done !== undefined;
}

/** The cluster as Markdown, shown by the Web UI beside the workflow. */
export function detailsOf(state: ClusterState): string {
  const { operation } = state;
  const counts =
    operation === undefined
      ? ''
      : ` (${operation.tasks.done} of ${operation.tasks.total} tasks done, ${operation.tasks.failed} failed)`;
  const what =
    operation === undefined || endedStates.includes(operation.state)
      ? 'No operation is running.'
      : `Operation ${operation.id}: **${operation.what}** by ${operation.by}, ${operation.paused === undefined ? operation.state : `paused by ${operation.paused.by}`}${counts}.`;
  const reason = operation?.reason === undefined ? [] : ['', `> ${operation.reason.split('\n')[0] ?? ''}`];
  const groups = Object.entries(state.groups).map(
    ([id, { members }]) =>
      `- group ${id}: ${sizeOf(members)} nodes, in the workflow \`${groupWorkflowId(state.name, id)}\``,
  );
  return [
    `### Cluster ${state.name}: ${phaseOf(state)}`,
    '',
    what,
    ...reason,
    '',
    nodesTable(state, servicesOf(state)),
    ...(groups.length === 0 ? [] : ['', ...groups]),
  ].join('\n');
}

/** The nodes of one workflow as a Markdown table. */
export function nodesTable({ nodes }: NodesState, services: Services): string {
  const shown = Object.values(nodes)
    .toSorted((a, b) => a.nodenum - b.nodenum)
    .slice(0, 100);
  const rows = shown.map((node) => {
    const { ipaddress } = node.payload;
    return row([
      node.nodeId,
      stateOf(node, services),
      typeof ipaddress === 'string' ? ipaddress : '',
      describeCurrent(node),
      node.services.join(', '),
    ]);
  });
  if (rows.length === 0) return 'No nodes.';
  const more = Object.keys(nodes).length - shown.length;
  return [
    row(['node', 'state', 'address', 'doing', 'services']),
    '| --- | --- | --- | --- | --- |',
    ...rows,
    ...(more > 0 ? ['', `and ${more} more nodes`] : []),
  ].join('\n');
}

/** The Web UI's tables have no space between their columns, so the cells bring their own. */
function row(cells: readonly string[]): string {
  return `|${cells.map((cell) => ` ${cell}\u00a0\u00a0\u00a0 `).join('|')}|`;
}

function describeCurrent(node: Pick<NodeState, 'failure' | 'current'>): string {
  const { failure, current } = node;
  if (failure !== undefined) return `${title(failure)}: ${failure.kind}`;
  if (current === undefined) return '';
  if (current.state === 'paused') return `${title(current)} is paused`;
  return current.state === 'waiting'
    ? `${title(current)} waits for ${(current.gates ?? []).join(', ')}`
    : title(current);
}

function title(task: { readonly action: string; readonly service?: string }): string {
  return task.service === undefined ? task.action : `${task.action} ${task.service}`;
}
