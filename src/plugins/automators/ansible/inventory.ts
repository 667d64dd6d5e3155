import type { Json, JsonObject, NodeAddress, Task } from '../../contract.js';
import type { AnsibleFields } from './fields.js';

/** Files of one play in its folder, by name. */
export type PlayFiles = Readonly<Record<string, string>>;

/** Where on the node the play keeps its things; absolute. */
export interface NodePlace {
  readonly tmp: string;
  readonly result: string;
}

/**
 * The cluster's nodes with their groups. All are there to be read of; the play is for the task's own node,
 * and only its host key and login are known.
 */
export function inventoryOf(task: Task, address: NodeAddress, fields: AnsibleFields): string {
  const own = loginOf(address, fields);
  const hosts = Object.fromEntries(
    Object.entries({ ...leavingNode(task), ...task.nodes }).map(
      ([nodeId, { hostname, ipaddress, nodenum, group, services }]) => [
        nodeId,
        {
          heddle_hostname: hostname,
          heddle_nodenum: nodenum,
          heddle_group: group,
          heddle_services: services,
          ansible_host: ipaddress ?? hostname,
          ...(nodeId === task.nodeId ? own : {}),
        },
      ],
    ),
  );
  const children: Record<string, { hosts: Record<string, Json> }> = {};
  for (const [nodeId, { group, services }] of Object.entries(task.nodes)) {
    for (const name of [`group_${group}`, ...services.map((service) => `service_${service}`)].map(groupName))
      (children[name] ??= { hosts: {} }).hosts[nodeId] = {};
  }
  return asYaml({ all: { hosts, children } });
}

/** What the play knows of its task, as the variable `heddle`, and the user's own variables. */
export function varsOf(task: Task, fields: AnsibleFields, data: string, place: NodePlace): PlayFiles {
  const { 'ssh-auth': _login, provider: _provider, service: _service, ...config } = task.config;
  const { clusterId, clusterUid, nodeId, taskId, taskName, attempt, cluster, nodes, service } = task;
  const heddle = {
    cluster: clusterId,
    cluster_uid: clusterUid,
    node: nodeId,
    service: service?.name ?? '',
    action: taskName,
    task: taskId,
    attempt,
    config: cluster,
    payload: config,
    nodes: Object.fromEntries(Object.entries(nodes)),
    data,
    result: place.result,
  };
  // The user's values are theirs to template; what came from nodes must never be read as a template on the
  // worker.
  return { 'heddle.yml': asYaml({ heddle }), 'vars.json': JSON.stringify(fields.vars) };
}

/** The name as Ansible takes one for a group. */
function groupName(name: string): string {
  return name.replaceAll(/\W/g, '_');
}

function loginOf({ host, port, user, password }: NodeAddress, { become }: AnsibleFields): JsonObject {
  return {
    ansible_host: host,
    ansible_port: port,
    ansible_user: user,
    ...(password === undefined ? {} : { ansible_password: password }),
    ...(become ? { ansible_become: true } : {}),
  };
}

/** A node that leaves is no peer any more. */
function leavingNode({ nodeId, nodes, config }: Task): Task['nodes'] {
  if (nodes[nodeId] !== undefined) return {};
  const { hostname, nodenum, group } = config;
  return {
    [nodeId]: {
      hostname: typeof hostname === 'string' ? hostname : nodeId,
      services: [],
      nodenum: typeof nodenum === 'number' ? nodenum : 0,
      group: typeof group === 'string' ? group : '',
    },
  };
}

/** YAML in which every text is marked as one that holds no template. */
function asYaml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asYaml).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .flatMap(([key, item]) => (item === undefined ? [] : [`${quote(key)}: ${asYaml(item)}`]))
      .join(', ')}}`;
  }
  return typeof value === 'string' ? `!unsafe ${quote(value)}` : JSON.stringify(value ?? null);
}

/** JSON's escapes are YAML's too; what YAML does not take as it is gets one. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
