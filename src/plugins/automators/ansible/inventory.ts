import { pointerBelow } from '../../../model/json.js';
import type { Json, JsonObject, NodeAddress, Task } from '../../contract.js';
import type { AnsibleFields } from './fields.js';

/** Files in the folder of one play, by name; undefined ones are not written. */
export type PlayFiles = Readonly<Record<string, string | undefined>>;

/** Absolute paths of the play on the node. */
export interface NodePlace {
  readonly tmp: string;
  readonly result: string;
}

/**
 * The cluster's nodes with their groups. Playbooks may read the facts of all nodes; only the task's own node
 * has a login, and only that is played on.
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

/** The variable `heddle`, with the task, and the user's variables. */
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
  const literal = service?.action.literal ?? [];
  return { 'heddle.yml': asYaml({ heddle }), 'vars.yml': asYaml(fields.vars, literal, '/vars') };
}

/** A valid name of a group. */
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

/** The task's own node while it leaves: it is no longer among the peers. */
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

/**
 * YAML in which texts are marked as not being templates: all of them, or those below the pointers.
 * What others than the author of the cluster file say must never be a template on the worker.
 * Ansible reads templates in keys, too. A mark counts for all that a list or mapping contains.
 */
function asYaml(value: unknown, literal: 'all' | readonly string[] = 'all', pointer = ''): string {
  return literal === 'all' || literal.includes(pointer)
    ? marked(value)
    : plain(value, (key, item) => asYaml(item, literal, pointerBelow(pointer, key)));
}

function marked(value: unknown): string {
  const written = plain(value, (_key, item) => plain(item));
  const isText = typeof value === 'string';
  return (isText && !looksTyped(value)) || (typeof value === 'object' && value !== null)
    ? `!unsafe ${written}`
    : written;
}

/** @param below writes the members of a list or mapping */
function plain(
  value: unknown,
  below: (key: string | number, item: unknown) => string = (_key, item) => plain(item),
): string {
  if (Array.isArray(value)) return `[${value.map((item, index) => below(index, item)).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .flatMap(([key, item]) => (item === undefined ? [] : [`? ${quote(key)} : ${below(key, item)}`]))
      .join(', ')}}`;
  }
  return typeof value === 'string' ? quote(value) : JSON.stringify(value ?? null);
}

/**
 * Whether YAML 1.1 would read the text as a number, time, boolean or null if it were not
 * quoted. Ansible takes the quotes of a marked text for absent: "0012" becomes 10. Such a text
 * needs no mark, because it can be no template or expression.
 */
function looksTyped(text: string): boolean {
  return (
    /^[-+.]*\d[\da-fox_:.e+\-tz \t]*\n?$/i.test(text) ||
    /^(yes|no|on|off|true|false|null|~|=|<<|[-+]?\.(inf|nan))?\n?$/i.test(text)
  );
}

/**
 * YAML reads JSON's escapes, except for half a surrogate pair; characters that YAML does not allow get one.
 */
function quote(text: string): string {
  return JSON.stringify(text.replaceAll(/\p{Surrogate}/gu, '\ufffd')).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
