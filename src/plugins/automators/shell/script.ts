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

/**
 * Writes the parts of standard input to files of the run's private folder, which is emptied when the run
 * ends, then executes the script. Sizes and words come in the environment: no value is part of shell text.
 */
const prologue = `
(
  umask 077
  cd "$HEDDLE_RUN" || exit
  set -- $HEDDLE_PARTS
  for file in main data task.json nodes facts heddle-get; do
    if [ "$1" -gt 0 ]; then dd bs="$1" count=1 of="$file" 2>/dev/null || exit; else true > "$file" || exit; fi
    shift
  done
  chmod 700 heddle-get
) || { echo "cannot write the script's files: disk full?" >&2; exit 1; }
HEDDLE_DATA=$HEDDLE_RUN/data HEDDLE_TASK=$HEDDLE_RUN/task.json HEDDLE_NODES=$HEDDLE_RUN/nodes
HEDDLE_GET=$HEDDLE_RUN/heddle-get PATH=\${PATH:+$PATH:}$HEDDLE_RUN
export HEDDLE_DATA HEDDLE_TASK HEDDLE_NODES HEDDLE_GET PATH
set --
heddle_word=1
while [ "$heddle_word" -le "$HEDDLE_WORDS" ]; do
  if [ "$heddle_word" -eq "$HEDDLE_MAIN" ]; then set -- "$@" "$HEDDLE_RUN/main"; fi
  eval "set -- \\"\\$@\\" \\"\\$HEDDLE_WORD_$heddle_word\\""
  unset "HEDDLE_WORD_$heddle_word"
  heddle_word=$((heddle_word + 1))
done
if [ "$heddle_word" -eq "$HEDDLE_MAIN" ]; then set -- "$@" "$HEDDLE_RUN/main"; fi
unset heddle_word HEDDLE_PARTS HEDDLE_WORDS HEDDLE_MAIN
exec "$@" < "$HEDDLE_DATA"
`;

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
  const interpreter = fields.interpreter ?? interpreterOf(script);
  const facts = factsOf(task);
  const parts = [
    script,
    data,
    `${JSON.stringify(facts, undefined, 2)}\n`,
    nodeLines(task),
    factLines({ ...facts, ...readData(data) }),
    lookupProgram,
  ];
  const words = [...interpreter, ...fields.arguments];
  return {
    text: prologue,
    stdin: parts.join(''),
    sudo: fields.sudo,
    environment: {
      ...fields.environment,
      ...taskEnvironment(task),
      ...(folder === undefined ? {} : { HEDDLE_SCRIPTS: folder }),
      HEDDLE_PARTS: parts.map((part) => Buffer.byteLength(part)).join(' '),
      HEDDLE_WORDS: String(words.length),
      // The script's own path follows the interpreter's words.
      HEDDLE_MAIN: String(interpreter.length + 1),
      ...Object.fromEntries(words.map((word, index) => [`HEDDLE_WORD_${index + 1}`, word])),
    },
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

/** The task without possible secrets: the login, the provider's fields, the action's fields. */
function factsOf(task: Task): JsonObject {
  const { 'ssh-auth': _login, ...config } = task.config;
  const { taskId, taskName, clusterId, clusterUid, nodeId, incarnation, attempt, nodes, cluster } = task;
  const { provider, service } = task;
  return {
    ...{ taskId, taskName, clusterId, clusterUid, nodeId, incarnation, attempt, config, cluster },
    nodes: nodes as unknown as JsonObject,
    provider: { name: provider.name, type: provider.type },
    ...(service === undefined ? {} : { service: { name: service.name } }),
  };
}

/** One line per node, for `while read -r node hostname address number services`; `-` means none. */
function nodeLines(task: Task): string {
  return Object.entries(task.nodes)
    .toSorted(([, one], [, other]) => one.nodenum - other.nodenum)
    .map(
      ([nodeId, { hostname, ipaddress = '-', nodenum, services }]) =>
        `${nodeId} ${hostname} ${ipaddress} ${nodenum} ${services.join(',') || '-'}\n`,
    )
    .join('');
}

/**
 * `heddle-get PATH [DEFAULT]`, for scripts without a JSON parser: prints the value of a path such as
 * `cluster/port`; for a list its items and for a mapping its keys, one per line.
 */
const lookupProgram = `#!/bin/sh
tab=$(printf '\\t')
while IFS= read -r line; do
  case $line in "$1$tab"*) printf '%b\\n' "\${line#*"$tab"}"; exit 0 ;; esac
done < "\${0%/*}/facts"
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
