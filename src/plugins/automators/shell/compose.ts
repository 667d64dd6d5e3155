import { type Script, type Task, PluginError } from '../../contract.js';
import type { ShellFields } from './fields.js';

/**
 * Lays the parts of standard input out as files in the run's private folder, which is emptied when the run ends, then
 * becomes the script. Sizes and words come by the environment, so that no value is ever part of shell text.
 */
const prologue = `
(
  umask 077
  cd "$HEDDLE_RUN" || exit
  set -- $HEDDLE_PARTS
  for file in main data task.json nodes; do
    if [ "$1" -gt 0 ]; then dd bs="$1" count=1 of="$file" 2>/dev/null || exit; else true > "$file" || exit; fi
    shift
  done
) || { echo "cannot write the script's files: disk full?" >&2; exit 1; }
HEDDLE_DATA=$HEDDLE_RUN/data HEDDLE_TASK=$HEDDLE_RUN/task.json HEDDLE_NODES=$HEDDLE_RUN/nodes
export HEDDLE_DATA HEDDLE_TASK HEDDLE_NODES
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

/** The script as the transport runs it: once for this task, with its data, the facts of its task, and its peers. */
export function composeScript(task: Task, script: string, data: string, fields: ShellFields): Script {
  if (script.trim() === '') throw new PluginError('Invalid', `automator shell: the ${task.taskName} script of ${task.service?.name ?? '-'} is empty`);
  const interpreter = fields.interpreter ?? interpreterOf(script);
  const parts = [script, data, `${JSON.stringify(factsOf(task), undefined, 2)}\n`, nodeLines(task)];
  const words = [...interpreter, ...fields.arguments];
  return {
    text: prologue,
    stdin: parts.join(''),
    sudo: fields.sudo,
    environment: {
      ...fields.environment,
      ...namesOf(task),
      HEDDLE_PARTS: parts.map((part) => Buffer.byteLength(part)).join(' '),
      HEDDLE_WORDS: String(words.length),
      // The script's own path stands behind the interpreter's words.
      HEDDLE_MAIN: String(interpreter.length + 1),
      ...Object.fromEntries(words.map((word, index) => [`HEDDLE_WORD_${index + 1}`, word])),
    },
  };
}

/** As the kernel reads a first line: a path, and all the rest as one argument. */
function interpreterOf(script: string): readonly string[] {
  const [, path, rest] = /^#![ \t]*(\S+)[ \t]*([^\r\n]*)/.exec(script) ?? [];
  if (path === undefined) return ['/bin/sh'];
  const argument = rest?.trim() ?? '';
  return argument === '' ? [path] : [path, argument];
}

function namesOf(task: Task): Record<string, string> {
  const self = task.nodes[task.nodeId];
  // A node that leaves is no peer any more, but its payload still knows it.
  const { ipaddress, hostname, nodenum } = task.config;
  return {
    HEDDLE_CLUSTER: task.clusterId,
    HEDDLE_NODE: task.nodeId,
    HEDDLE_SERVICE: task.service?.name ?? '',
    HEDDLE_ACTION: task.taskName,
    HEDDLE_NODENUM: String(self?.nodenum ?? (typeof nodenum === 'number' ? nodenum : '')),
    HEDDLE_HOSTNAME: self?.hostname ?? (typeof hostname === 'string' ? hostname : ''),
    HEDDLE_IPADDRESS: typeof ipaddress === 'string' ? ipaddress : self?.ipaddress ?? '',
  };
}

/** The task without what may be secret: the login, the provider's fields, the action's fields. */
function factsOf(task: Task) {
  const { 'ssh-auth': _login, ...config } = task.config;
  const { taskId, taskName, clusterId, clusterUid, nodeId, incarnation, attempt, nodes, cluster, provider, service } = task;
  return {
    taskId, taskName, clusterId, clusterUid, nodeId, incarnation, attempt, config, nodes, cluster,
    provider: { name: provider.name, type: provider.type },
    ...(service === undefined ? {} : { service: { name: service.name } }),
  };
}

/** A node a line, for `while read -r node hostname address number services`; `-` stands for nothing. */
function nodeLines(task: Task): string {
  return Object.entries(task.nodes)
    .toSorted(([, one], [, other]) => one.nodenum - other.nodenum)
    .map(([nodeId, { hostname, ipaddress = '-', nodenum, services }]) => `${nodeId} ${hostname} ${ipaddress} ${nodenum} ${services.join(',') || '-'}\n`)
    .join('');
}
