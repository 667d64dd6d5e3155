import { PluginError, type RunOutcome, type Shell } from './contract.js';

/** A program that an automator needs on the node. */
export interface NodeTool {
  readonly name: string;
  /** Any one of these will do; looked for on PATH and in `folders`. */
  readonly commands: readonly string[];
  /** More places than PATH, such as /opt/puppetlabs/bin. */
  readonly folders?: readonly string[];
  /** What installs it, by package manager; none where no distribution has it. */
  readonly packages?: Readonly<Partial<Record<'apt' | 'dnf' | 'zypper' | 'apk', string>>>;
  /** What a person can do where it cannot be installed. */
  readonly advice: string;
}

/**
 * Sees that the node has the tool, and installs it where it has not. What was found or installed is noted on
 * the node, so that a later BOOTSTRAP costs one short command.
 * @throws PluginError ScriptFailed when the tool is not there and cannot be installed.
 */
export async function prepareTool(shell: Shell, tool: NodeTool): Promise<void> {
  const looked = await shell.exec([
    'sh',
    '-c',
    look,
    'heddle',
    tool.name,
    searchPath(tool),
    ...tool.commands,
  ]);
  if (looked.exitCode === 0) return;
  const { apt = '', dnf = '', zypper = '', apk = '' } = tool.packages ?? {};
  if (tool.packages === undefined) throw missing(tool, looked, 'and Heddle cannot install it');
  const installed = await shell.run({
    name: `install-${tool.name}`,
    text: install,
    sudo: true,
    environment: { APT: apt, DNF: dnf, ZYPPER: zypper, APK: apk },
  });
  if (installed.exitCode !== 0)
    throw missing(
      tool,
      installed,
      `and installing it ended with exit code ${installed.exitCode}: ${lastLine(installed)}`,
    );
  const again = await shell.exec(['sh', '-c', look, 'heddle', tool.name, searchPath(tool), ...tool.commands]);
  if (again.exitCode !== 0) throw missing(tool, again, 'though its package is installed');
}

/** For scripts: PATH with the tool's own folders behind it. */
export function searchPath({ folders = [] }: Pick<NodeTool, 'folders'>): string {
  return folders.join(':');
}

/** The last thing that a script said. */
export function lastLine({ stdout, stderr }: Pick<RunOutcome, 'stdout' | 'stderr'>): string {
  return (stderr.trim() || stdout.trim()).split('\n').at(-1)?.slice(-300) ?? '';
}

function missing({ name, commands, advice }: NodeTool, outcome: RunOutcome, why: string): PluginError {
  return new PluginError(
    'ScriptFailed',
    `automator ${name}: the node has no ${commands.join(' or ')}, ${why}; ${advice}`,
    { ...outcome },
  );
}

/** What was found stands in a file; while that is still there and can be run, nothing else is looked at. */
const look = `
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
else echo "no package manager that is known here has it" >&2; exit 1
fi
`;
