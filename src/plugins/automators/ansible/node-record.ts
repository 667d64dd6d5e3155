import { randomUUID } from 'node:crypto';
import { PluginError, type RunOutcome, type Shell } from '../../contract.js';
import type { NodePlace } from './inventory.js';
import { endSessions, folder } from './watch.js';

/**
 * The files of one run on the node. They do not record how a play ended; only the attempt that ran it knows.
 */
export interface NodeRecord {
  /** Identifies the run; the same for all its attempts. */
  readonly id: string;
  readonly place: NodePlace;
  /** Whether an earlier attempt left its folder. A node can hide that, so it is used for caution only. */
  readonly traces: boolean;
  /** Number of the play's watch: 1, unless watches of earlier attempts have ended. */
  readonly watch: number;
}

/**
 * Reads what earlier attempts left. A script that runs once makes all attempts, on any worker, agree on the
 * id.
 */
export async function readRecord(shell: Shell): Promise<NodeRecord> {
  const claimed = await shell.run({ name: 'begin', text: 'cat', stdin: randomUUID() });
  const id = claimed.stdout.trim();
  if (claimed.exitCode !== 0 || !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id))
    throw new PluginError('UnknownOutcome', `the node returned no id of the play: ${claimed.stderr.trim()}`);
  const { stdout } = await must(shell, 'looks for earlier plays', findTraces, [id]);
  const [home = '', traces = '', ended = '', ...rest] = stdout.split('\n');
  // The path goes into ansible.cfg, where most other characters have a meaning.
  if (!/^\/[\p{L}\p{N}._+@/-]*$/u.test(home) || !/^\d{1,4}$/.test(ended) || rest.join('') !== '')
    throw new PluginError(
      'Invalid',
      'automator ansible: the home folder of the login must be an absolute path of letters, digits and . _ + @ -',
    );
  const base = `${home}/${folder}/${id}`;
  const place = { tmp: `${base}/${randomUUID()}`, result: `${base}/result` };
  return { id, traces: traces !== '', watch: Number(ended) + 1, place };
}

/** Stops earlier attempts on the node: they can send no further modules, and their processes end. */
export async function fenceEarlierAttempts(shell: Shell, { id, place, watch }: NodeRecord): Promise<void> {
  await must(shell, 'makes a place for the play', begin, [id, place.tmp, String(watch)]);
  await must(shell, 'ends an earlier attempt', endSessions, [`${folder}/${id}`]);
}

/** Ends the watch of the play. */
export async function endWatch(shell: Shell, { id, watch }: NodeRecord): Promise<void> {
  const open = 'cd "$HOME/$1" && if [ -p "watch.$2" ]; then { : > "watch.$2" & } fi';
  await must(shell, 'ends its watch', open, [`${folder}/${id}`, String(watch)]);
}

async function must(
  shell: Shell,
  what: string,
  script: string,
  words: readonly string[],
): Promise<RunOutcome> {
  const outcome = await shell.exec(['sh', '-c', script, 'heddle', ...words]);
  if (outcome.exitCode === 0) return outcome;
  throw new PluginError('ScriptFailed', `automator ansible ${what}: ${outcome.stderr.trim()}`, outcome);
}

/** Prints the home, whether an attempt began before, and how many watches have ended. Removes old runs. */
const findTraces = `
umask 077
mkdir -p "$HOME/${folder}" && cd "$HOME/${folder}" || exit
find . -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} + 2> /dev/null
printf '%s\\n' "$HOME"
if [ -d "$1" ]; then echo before; else echo; fi
ended=0
for mark in "$1"/ended.*; do
  if [ -e "$mark" ]; then ended=$((ended + 1)); fi
done
printf '%s' "$ended"
`;

/** Replaces folders of earlier attempts by files, so that these cannot send another module. */
const begin = `
umask 077
mkdir -p "$HOME/${folder}/$1" && cd "$HOME/${folder}/$1" || exit
for old in *-*; do
  if [ -d "$old" ]; then rm -rf "$old" && : > "$old" || exit; fi
done
mkdir -p "$2" && rm -f result && { [ -p "watch.$3" ] || mkfifo "watch.$3"; }
`;
