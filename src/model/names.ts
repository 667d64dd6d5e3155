import type { AnyAction } from './action.js';
import type { JsonObject } from './json.js';

/** Ids and names that more than one part of Heddle must spell alike. */
export const clusterWorkflowType = 'cluster';
export const groupWorkflowType = 'group';
export const revisionWorkflowType = 'revision';
export const planWorkflowType = 'plan';
export const claimsWorkflowType = 'claims';
export const sweepWorkflowType = 'sweep';
export const machineWorkflowType = 'machine';
export const nodeMachineWorkflowType = 'nodeMachine';
export const poolWorkflowType = 'pool';
export const lockWorkflowType = 'lock';
export const rateLimiterWorkflowType = 'rateLimiter';
export const artifactsWorkflowType = 'artifacts';
export const artifactPartWorkflowType = 'artifactPart';
export const imageWorkflowType = 'image';
export const periodicChecksWorkflowType = 'periodicChecks';
export const reservationsWorkflowType = 'reservations';
export const deliveryWorkflowType = 'delivery';

/** The signal by which a cluster sends its events to the workflow that started it. */
export const clusterEventSignalName = 'heddleClusterEvent';

/** The Temporal Schedule that starts passes of the sweep. */
export const sweepScheduleId = 'heddle-sweep';

/** The Temporal Schedule of the periodic checks of machines and images. */
export const periodicChecksScheduleId = 'heddle-checks';

/** Workflow ids in Heddle's schedules; Temporal appends the time to the id of each workflow it starts. */
export const scheduledWorkflowIds = ['periodic-checks', 'sweep'] as const;

/** The site of workers whose configuration names none. */
export const defaultSite = 'default';

/**
 * All workflows but groups, and the tasks of the default site: a worker starts tasks of its own workflows at
 * once if they are on its workflow queue, without another round trip to the server.
 */
export const workflowQueue = 'heddle';

/**
 * The workflows of groups, and the tasks of the default site in groups: a large cluster takes no slot from
 * other workflows.
 */
export const groupQueue = 'heddle/groups';

/** The queues of all workflows. */
export const workflowQueues: readonly string[] = [workflowQueue, groupQueue];

/** PLAN and other activities that any worker may take. */
export const coreQueue = 'heddle/core';

/**
 * Polled by one worker alone (`<pid>@<host>`), at short intervals: the server shows when it was last alive.
 */
export function aliveQueue(worker: string): string {
  return `heddle/alive/${worker}`;
}

export function clusterWorkflowId(clusterName: string): string {
  return `cluster/${clusterName}`;
}

/** Nodes of a large cluster beyond those that its own workflow carries. */
export function groupWorkflowId(clusterName: string, group: string): string {
  return `cluster/${clusterName}/group/${group}`;
}

/** A revision of a cluster's spec, by its number and the uid of the operation that brought it. */
export function revisionWorkflowId(clusterName: string, number: number, operationUid: string): string {
  return `${clusterWorkflowId(clusterName)}/revision/${number}-${operationUid}`;
}

/** The workflow id of the cluster that a group belongs to; undefined for other workflows. */
export function clusterOfGroup(workflowId: string): string | undefined {
  return /^(cluster\/[^/]+)\/group\/[^/]+$/.exec(workflowId)?.[1];
}

/**
 * Owner name of a standalone machine in the tags of a provider; distinct from cluster names, which contain no
 * slash.
 */
export function machineWorkflowId(machine: string): string {
  return `machine/${machine}`;
}

/** An operation on the machine of a node, by the run of the workflow that carries it out. */
export function nodeOperationId(runId: string): string {
  return `machine-${runId}`;
}

/**
 * The workflow that a machine's tags name: a cluster by its name, or a workflow of another kind by its
 * id.
 */
export function ownerWorkflowId(owner: string): string {
  return owner.includes('/') ? owner : clusterWorkflowId(owner);
}

/** Permits for loads and captures of a site, claimed like machines of an account. */
export function slotsOf(site: string): string {
  return `slots-of-site/${site}`;
}

/** Programs that run on the machines of an account, claimed like its machines. */
export function runsOf(provider: string): string {
  return `runs-of/${provider}`;
}

/** An image with its builds; also how tags name whose the machines of its builds are. */
export function imageWorkflowId(image: string): string {
  return `image/${image}`;
}

/** Names a build's image where machines have their node; its key is made of it, too. */
export function uploadId(image: string, build: number): string {
  return `${image}-${build}`;
}

/** Names one upload for ever. */
export function uploadToken(uid: string, build: number, provider: string): string {
  return `${uid}/${build}/${provider}`;
}

/** Permits for builds of a site, apart from those for its loads. */
export function buildPermitsOf(site: string): string {
  return `${site}/builds`;
}

/** Also how tags and logs name a pool, where they would name a cluster: no cluster's name has a slash. */
export function poolWorkflowId(poolName: string): string {
  return `pool/${poolName}`;
}

/** The provider account by which clusters draw nodes from pools; every worker has one. */
export const poolAccount = 'pool';

/** Who has which machine of a provider account whose machines carry no tags. */
export function claimsWorkflowId(provider: string): string {
  return `claims/${provider}`;
}

/** The rate limiter of a provider account. */
export function rateLimiterWorkflowId(provider: string): string {
  return `rate-limiter/${provider}`;
}

/** The lock of a provider account that supports one call at a time. */
export function lockWorkflowId(provider: string): string {
  return `lock/${provider}`;
}

/** The catalogue of resources, one in a namespace. */
export const artifactsWorkflowId = 'artifacts';

/** The calendar of reservations, one in a namespace. */
export const reservationsWorkflowId = 'reservations';

/** The delivery of an event to a webhook. */
export function deliveryWorkflowId(
  event: { readonly id: string; readonly type: string },
  webhook: string,
): string {
  return `delivery/${event.id}/${event.type}/${webhook}`;
}

/** A part of a resource's content, by the digest of the whole. */
export function artifactPartWorkflowId(digest: string, part: number): string {
  return `artifact/${digest}/${part}`;
}

/** Service tasks and CONFIRM: workers that reach the machines of a site. */
export function siteQueue(site: string): string {
  return site === defaultSite ? workflowQueue : `heddle.${site}`;
}

/** The tasks that groups have for the workers of a site. */
export function groupSiteQueue(site: string): string {
  return site === defaultSite ? groupQueue : `heddle.${site}/groups`;
}

/** CREATE and DELETE: calls that change something, rate-limited by the server for each provider account. */
export function providerQueue(site: string, provider: string): string {
  return `heddle.${site}.${provider}`;
}

/** The site of a queue that only a site's workers, or builders, ask. */
export function siteOf(queue: string): string {
  if (workflowQueues.includes(queue)) return defaultSite;
  return /^heddle\.([^./]+)/.exec(queue)?.[1] ?? '?';
}

/** Images that are built: commands of builders, and the places for builds. */
export function buildQueue(site: string): string {
  return `heddle.${site}/build`;
}

/** Files of images on their way from and to providers, and away from the builders. */
export function uploadQueue(site: string): string {
  return `heddle.${site}/upload`;
}

export function nodeId(group: string, index: number): string {
  return `${group}-${index}`;
}

/** The group in a node's id, also of a node that the cluster no longer has. */
export function groupOfNode(node: string): string {
  return node.replace(/-\d+$/, '');
}

export function hostname(clusterName: string, node: string): string {
  return `${clusterName}-${node}`;
}

/**
 * Names a machine for ever; tags, client tokens and run folders use it, never a name, a run id or an attempt.
 */
export function machineKey(clusterUid: string, node: string, incarnation: number): string {
  return `${clusterUid}/${node}/${incarnation}`;
}

/** The parts of a machine's key; undefined if malformed. */
export function readMachineKey(
  key: string,
): { readonly clusterUid: string; readonly nodeId: string; readonly incarnation: number } | undefined {
  const [, clusterUid, nodeId, incarnation] = /^([^/]+)\/([^/]+)\/([1-9][0-9]{0,8})$/.exec(key) ?? [];
  return clusterUid === undefined || nodeId === undefined
    ? undefined
    : { clusterUid, nodeId, incarnation: Number(incarnation) };
}

/** @param id random: a UUID, or the id of a message */
export function shortUid(id: string): string {
  return id.replaceAll('-', '').slice(0, 12);
}

/** How tasks, nodes and logs name an operation. */
export function operationKey({ id, uid }: { readonly id: string; readonly uid: string }): string {
  return `${id}-${uid}`;
}

/**
 * What tells an operation from all others. Its number does not: after a reset, the next operation gets a
 * number that an operation of the cut-off run had, and a request that is delivered again may get another one
 * than before.
 */
export function uidOfKey(operation: string): string {
  return /^\d+-(.+)$/.exec(operation)?.[1] ?? operation;
}

export interface TaskName {
  readonly clusterUid: string;
  readonly nodeId: string;
  readonly incarnation: number;
  readonly service?: string | undefined;
  readonly action: AnyAction;
  readonly operation: string;
  readonly begun?: number | undefined;
}

/** `-` means no service. Behind the operation's uid, `_` and how many operations a group had begun. */
export function taskId(name: TaskName): string {
  return `${name.clusterUid}/${name.nodeId}#${name.incarnation}/${name.service ?? '-'}/${name.action}/${uidOfKey(name.operation)}${name.begun === undefined ? '' : `_${name.begun}`}`;
}

/** One execution of a task's scripts; a retry of the attempt keeps it, a new run counts on. */
export function runId({ taskId: task, run, retry }: RunName): string {
  return `${task}.${run}${retry === undefined ? '' : `_${retry}`}`;
}

export interface RunName {
  readonly taskId: string;
  /** Counts from 1. */
  readonly run: number;
  /** The retry of the operation that the run began in. */
  readonly retry?: string;
}

/** "INSTALL web on app-2": how a task reads in the Web UI, in progress views and in messages. */
export function taskTitle(action: AnyAction, node: string, service?: string): string {
  return service === undefined ? `${action} ${node}` : `${action} ${service} on ${node}`;
}

/** The tags that machines and images carry. `heddle-installation` is the UUID of the Temporal namespace. */
export const tagNames = {
  installation: 'heddle-installation',
  key: 'heddle-key',
  cluster: 'heddle-cluster',
  node: 'heddle-node',
  placement: 'heddle-placement',
  /** Of an image that a person had captured: it outlives the machine it was made of. */
  captured: 'heddle-captured',
} as const;

/** Search attributes; `labels` is a list of keywords such as `team=web`, the others are one keyword each. */
export const searchAttributes = {
  cluster: 'HeddleCluster',
  phase: 'HeddlePhase',
  provider: 'HeddleProvider',
  labels: 'HeddleLabels',
} as const;

/** The machine of a slot: nodes that share machine `b1` have the ids `b1`, `b1#2` and so on. */
export function machineOfSlot(providerid: string): string {
  return providerid.replace(/#\d+$/, '');
}

/** The machine of a node with this payload; undefined if it has none yet. */
export function machineOf({ providerid }: JsonObject): string | undefined {
  return typeof providerid === 'string' ? machineOfSlot(providerid) : undefined;
}
