import { PluginError, type RunOutcome, type Shell } from './contract.js';

/** A program that an automator needs on the node. */
export interface NodeTool {
  readonly name: string;
  /** Alternative names, searched on PATH and in `folders`. */
  readonly commands: readonly string[];
  /** Further places, such as /opt/puppetlabs/bin. */
  readonly folders?: readonly string[];
  /** Packages by package manager; none if no distribution has it. */
  readonly packages?: Readonly<Partial<Record<'apt' | 'dnf' | 'zypper' | 'apk', string>>>;
  /** What the user can do if it cannot be installed. */
  readonly advice: string;
}

/**
 * Installs the tool on the node unless it is present. The node stores the result, so that a later BOOTSTRAP
 * costs one short command.
 * @throws PluginError ScriptFailed if the tool is missing and cannot be installed.
 */
export async function prepareTool(shell: Shell, tool: NodeTool): Promise<void> {
  const { name, commands, advice, packages } = tool;
  const find = (): Promise<RunOutcome> =>
    shell.exec(['sh', '-c', findTool, 'heddle', name, searchPath(tool), ...commands]);
  const missing = (outcome: RunOutcome, why: string): PluginError =>
    new PluginError(
      'ScriptFailed',
      `automator ${name}: the node has no ${commands.join(' or ')}, ${why}; ${advice}`,
      outcome,
    );
  const found = await find();
  if (found.exitCode === 0) return;
  if (packages === undefined) throw missing(found, 'and Heddle cannot install it');
  const { apt = '', dnf = '', zypper = '', apk = '' } = packages;
  const installed = await shell.run({
    name: `install-${name}`,
    text: install,
    sudo: true,
    environment: { APT: apt, DNF: dnf, ZYPPER: zypper, APK: apk },
  });
  if (installed.exitCode !== 0)
    throw missing(
      installed,
      `and installing it ended with exit code ${installed.exitCode}: ${lastLine(installed)}`,
    );
  const again = await find();
  if (again.exitCode !== 0) throw missing(again, 'though its package is installed');
}

/** The tool's folders, which scripts append to PATH. */
export function searchPath({ folders = [] }: NodeTool): string {
  return folders.join(':');
}

/** The last line of a script's output. */
export function lastLine({ stdout, stderr }: Pick<RunOutcome, 'stdout' | 'stderr'>): string {
  return (stderr.trim() || stdout.trim()).split('\n').at(-1)?.slice(-300) ?? '';
}

/** The note contains the path of the executable; while that exists, the search is skipped. */
const findTool = `
note=$HOME/.heddle/prepared/$1
if [ -f "$note" ] && [ -x "$(cat "$note")" ]; then exit 0; fi
name=$1
PATH=$PATH:$2
shift 2
for word in "$@"; do
  found=$(command -v "$word") || continue
  umask 077
  mkdir -p "$HOME/.heddle/prepared" && printf '%s\\n' "$found" > "$note" && exit 0
done
exit 3
`;

const install = `
set -e
if command -v apt-get > /dev/null && [ -n "$APT" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=300 update -q
  apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $APT
elif command -v dnf > /dev/null && [ -n "$DNF" ]; then dnf install -y -q $DNF
elif command -v zypper > /dev/null && [ -n "$ZYPPER" ]; then zypper --non-interactive install $ZYPPER
elif command -v apk > /dev/null && [ -n "$APK" ]; then apk add --quiet $APK
else echo "no supported package manager provides it" >&2; exit 1
fi
`;

/**
 * Shell function `run_until_terminated COMMAND...`, for tools that start their own sessions, which a signal
 * to the script's process group does not reach. On SIGTERM it ends every process with this run's HEDDLE_RUN
 * in its environment, first with SIGTERM, then with SIGKILL, within the five seconds that a script has. It
 * repeats this, because processes may start others meanwhile.
 *
 * SSH servers that the tool has started are spared, because they provide access to the node. Without Linux's
 * /proc only the process group is ended.
 */
export const runUntilTerminated = `
run_until_terminated() {
  trap end_started TERM
  "$@" < /dev/null &
  wait "$!"
  code=$?
  trap - TERM
  return "$code"
}
end_started() {
  trap '' TERM
  each_started TERM
  rounds=0
  while [ "$rounds" -lt 15 ] && each_started 0; do
    sleep 0.1 2> /dev/null || { sleep 1; rounds=$((rounds + 9)); }
    rounds=$((rounds + 1))
  done
  rounds=0
  while [ "$rounds" -lt 20 ] && each_started KILL; do rounds=$((rounds + 1)); done
  exit 143
}
each_started() {
  some=1
  for place in $(grep -slaF "HEDDLE_RUN=$HEDDLE_RUN" /proc/[0-9]*/environ); do
    place=\${place%/environ}
    [ "$place" != "/proc/$$" ] || continue
    name=
    { read -r name < "$place/comm"; } 2> /dev/null || continue
    case $name in sshd*|dropbear*) continue;; esac
    # The text may also be a part of another variable.
    tr '\\0' '\\n' 2> /dev/null < "$place/environ" | grep -qxF "HEDDLE_RUN=$HEDDLE_RUN" || continue
    kill -s "$1" "\${place#/proc/}" 2> /dev/null && some=0
  done
  return "$some"
}
`;
