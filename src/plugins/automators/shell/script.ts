import { isJsonObject } from '../../../model/json.js';
import { type Json, type JsonObject, type Script, type Task, PluginError } from '../../contract.js';
import { taskEnvironment } from '../../task-environment.js';

export interface ScriptFields {
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The program that reads the script; default its first line, then /bin/sh. */
  readonly interpreter?: readonly string[];
  readonly sudo: boolean;
}

/** The script as the transport runs it, with its data, its task's facts, and its peers. */
export function composeScript(
  task: Task,
  script: string,
  data: string,
  fields: ScriptFields,
  folder: string | undefined,
): Script {
  if (script.trim() === '')
    throw new PluginError(
      'Invalid',
      `automator shell: the ${task.taskName} script of ${task.service?.name ?? '-'} is empty`,
    );
  const own = factsOf(task);
  const peers = peersOf(task.nodes);
  // A file becomes executable by a process of its own on the node.
  const usesLookup = folder !== undefined || script.includes('heddle-get') || data.includes('heddle-get');
  return {
    text: script,
    stdin: data,
    sudo: fields.sudo,
    interpreter: fields.interpreter ?? interpreterOf(script),
    arguments: fields.arguments,
    environment: {
      ...fields.environment,
      ...taskEnvironment(task),
      ...(folder === undefined ? {} : { HEDDLE_SCRIPTS: folder }),
    },
    files: [
      {
        name: 'task.json',
        variable: 'HEDDLE_TASK',
        content: `${JSON.stringify(own, undefined, 2).slice(0, -2)},\n  "nodes": `,
        shared: peers.json,
      },
      { name: 'nodes', variable: 'HEDDLE_NODES', content: '', shared: peers.lines },
      {
        name: 'heddle-get',
        variable: 'HEDDLE_GET',
        executable: usesLookup,
        content: lookupProgram + factLines({ ...own, ...readData(data) }),
        shared: peers.facts,
      },
    ],
  };
}

/** Data that is a mapping can be looked up as well. */
function readData(data: string): { readonly data?: Json } {
  if (!data.startsWith('{')) return {};
  try {
    return { data: JSON.parse(data) as Json };
  } catch {
    return {};
  }
}

/** As the kernel reads a first line: a path, and all the rest as one argument. */
function interpreterOf(script: string): readonly string[] {
  const [, path, rest] = /^#![ \t]*(\S+)[ \t]*([^\r\n]*)/.exec(script) ?? [];
  if (path === undefined) return ['/bin/sh'];
  const argument = rest?.trim() ?? '';
  return argument === '' ? [path] : [path, argument];
}

/** The task without its nodes and possible secrets: the login, the provider's fields, the action's fields. */
function factsOf(task: Task): JsonObject {
  const { 'ssh-auth': _login, ...config } = task.config;
  const { taskId, taskName, clusterId, clusterUid, nodeId, incarnation, attempt, cluster } = task;
  const { provider, service } = task;
  return {
    ...{ taskId, taskName, clusterId, clusterUid, nodeId, incarnation, attempt, config, cluster },
    provider: { name: provider.name, type: provider.type },
    ...(service === undefined ? {} : { service: { name: service.name } }),
  };
}

/** Texts about the nodes of a task. */
interface PeerTexts {
  /** With the end of the object around it. */
  readonly json: string;
  readonly lines: string;
  readonly facts: string;
}

/** Tasks that see the same nodes share the object, so the texts are made once for all of them. */
const peerTexts = new WeakMap<Task['nodes'], PeerTexts>();

function peersOf(nodes: Task['nodes']): PeerTexts {
  const known = peerTexts.get(nodes);
  if (known !== undefined) return known;
  const made = {
    json: `${JSON.stringify(nodes, undefined, 2).replaceAll('\n', '\n  ')}\n}\n`,
    lines: nodeLines(nodes),
    facts: factLines(nodes as unknown as JsonObject, 'nodes'),
  };
  peerTexts.set(nodes, made);
  return made;
}

/** One line per node, for `while read -r node hostname address number services`; `-` means none. */
function nodeLines(nodes: Task['nodes']): string {
  return Object.entries(nodes)
    .toSorted(([, one], [, other]) => one.nodenum - other.nodenum)
    .map(
      ([nodeId, { hostname, ipaddress = '-', nodenum, services }]) =>
        `${nodeId} ${hostname} ${ipaddress} ${nodenum} ${services.join(',') || '-'}\n`,
    )
    .join('');
}

/**
 * `heddle-get PATH [DEFAULT]`, for scripts without a JSON parser: prints the value of a path
 * such as `cluster/port`; for a list its items and for a mapping its keys, one per line. The
 * values follow the program in its own file.
 */
const lookupProgram = `#!/bin/sh
tab=$(printf '\\t')
while IFS= read -r line; do
  case $line in "$1$tab"*) printf '%b\\n' "\${line#*"$tab"}"; exit 0 ;; esac
done < "$0"
if [ "$#" -gt 1 ]; then printf '%s\\n' "$2"; exit 0; fi
echo "heddle-get: there is no $1" >&2
exit 1
`;

/** One line per path of a value; line breaks and tabs are escaped for printf's %b. */
function factLines(value: Json, path = ''): string {
  const below = path === '' ? '' : `${path}/`;
  const entries: readonly (readonly [string, Json])[] = Array.isArray(value)
    ? value.map((item, index): readonly [string, Json] => [String(index), item])
    : isJsonObject(value)
      ? Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, item] as const]))
      : [];
  const own = path === '' ? '' : `${escape(path)}\t${escape(textOf(value))}\n`;
  return own + entries.map(([key, item]) => factLines(item, below + key)).join('');
}

function textOf(value: Json): string {
  if (Array.isArray(value))
    return value
      .map((item: Json) => (typeof item === 'object' && item !== null ? JSON.stringify(item) : textOf(item)))
      .join('\n');
  if (isJsonObject(value)) return Object.keys(value).join('\n');
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}
