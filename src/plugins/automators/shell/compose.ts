import { type Json, type JsonObject, type Script, type Task, PluginError } from '../../contract.js';
import { taskEnvironment } from '../../task-environment.js';
import type { ShellFields } from './fields.js';
import { factLines, lookupProgram } from './lookup.js';

/**
 * Lays the parts of standard input out as files in the run's private folder, which is emptied when the run
 * ends, then becomes the script. Sizes and words come by the environment, so that no value is ever part of
 * shell text.
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

/**
 * The script as the transport runs it: once for this task, with its data, the facts of its task, and its
 * peers.
 */
export function composeScript(
  task: Task,
  script: string,
  data: string,
  fields: ShellFields & { readonly folder?: string },
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
      ...(fields.folder === undefined ? {} : { HEDDLE_SCRIPTS: fields.folder }),
      HEDDLE_PARTS: parts.map((part) => Buffer.byteLength(part)).join(' '),
      HEDDLE_WORDS: String(words.length),
      // The script's own path stands behind the interpreter's words.
      HEDDLE_MAIN: String(interpreter.length + 1),
      ...Object.fromEntries(words.map((word, index) => [`HEDDLE_WORD_${index + 1}`, word])),
    },
  };
}

/** Data that is a mapping can be looked up too. */
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

/** The task without what may be secret: the login, the provider's fields, the action's fields. */
function factsOf(task: Task): JsonObject {
  const { 'ssh-auth': _login, ...config } = task.config;
  const {
    taskId,
    taskName,
    clusterId,
    clusterUid,
    nodeId,
    incarnation,
    attempt,
    nodes,
    cluster,
    provider,
    service,
  } = task;
  return {
    taskId,
    taskName,
    clusterId,
    clusterUid,
    nodeId,
    incarnation,
    attempt,
    config,
    nodes: nodes as unknown as JsonObject,
    cluster,
    provider: { name: provider.name, type: provider.type },
    ...(service === undefined ? {} : { service: { name: service.name } }),
  };
}

/** A node a line, for `while read -r node hostname address number services`; `-` stands for nothing. */
function nodeLines(task: Task): string {
  return Object.entries(task.nodes)
    .toSorted(([, one], [, other]) => one.nodenum - other.nodenum)
    .map(
      ([nodeId, { hostname, ipaddress = '-', nodenum, services }]) =>
        `${nodeId} ${hostname} ${ipaddress} ${nodenum} ${services.join(',') || '-'}\n`,
    )
    .join('');
}
