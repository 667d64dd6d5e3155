import { randomUUID } from 'node:crypto';
import { PluginError, type RunOutcome, type Shell } from '../../contract.js';
import type { NodePlace } from './inventory.js';
import { endSessions, folder } from './watch.js';

/**
 * Where the node keeps the things of one run. It says nothing of how a play ended: that is known to the
 * attempt that played it, and to nobody on the node.
 */
export interface NodeRecord {
  /** Names the run; the same for all attempts of it. */
  readonly id: string;
  readonly place: NodePlace;
  /** An earlier attempt left its folder. A node can hide that, so it only ever adds to the caution. */
  readonly traces: boolean;
  /** Which watch is to stand for the play: the first, unless the watches of earlier attempts have ended. */
  readonly watch: number;
}

/**
 * Looks what earlier attempts of this run left on the node. Several attempts, on whatever worker, agree on
 * the run's id by a script that runs once.
 */
export async function readRecord(shell: Shell): Promise<NodeRecord> {
  const claimed = await shell.run({ name: 'begin', text: 'cat', stdin: randomUUID() });
  const id = claimed.stdout.trim();
  if (claimed.exitCode !== 0 || !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)) {
    throw new PluginError(
      'UnknownOutcome',
      `the node did not tell which play this is: ${claimed.stderr.trim()}`,
    );
  }
  const { stdout } = await must(shell, 'looks for earlier plays', look, [id]);
  const [home = '', traces = '', ended = '', ...rest] = stdout.split('\n');
  // The path goes into ansible.cfg, where most other characters would mean something.
  if (!/^\/[\p{L}\p{N}._+@/-]*$/u.test(home) || !/^\d{1,4}$/.test(ended) || rest.join('') !== '') {
    throw new PluginError(
      'Invalid',
      'automator ansible: the home folder of the login is no absolute path of letters, digits and . _ + @ -',
    );
  }
  const base = `${home}/${folder}/${id}`;
  return {
    id,
    traces: traces !== '',
    watch: Number(ended) + 1,
    place: { tmp: `${base}/${randomUUID()}`, result: `${base}/result` },
  };
}

/**
 * Makes this attempt the only one that can do anything on the node, and ends what earlier ones still have
 * running there.
 */
export async function takeOver(shell: Shell, { id, place, watch }: NodeRecord): Promise<void> {
  await must(shell, 'makes a place for the play', begin, [id, place.tmp, String(watch)]);
  await must(shell, 'ends an earlier attempt', endSessions, [`${folder}/${id}`]);
}

/** Lets the watch of the play go. */
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
  if (outcome.exitCode !== 0)
    throw new PluginError('ScriptFailed', `automator ansible ${what}: ${outcome.stderr.trim()}`, {
      ...outcome,
    });
  return outcome;
}

/**
 * Prints the home, whether an attempt began before, and how many watches have ended. Old runs are cleared
 * away.
 */
const look = `
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

/**
 * In the place of an earlier attempt's folder stands a file afterwards, so that it cannot send another
 * module.
 */
const begin = `
umask 077
mkdir -p "$HOME/${folder}/$1" && cd "$HOME/${folder}/$1" || exit
for old in *-*; do
  if [ -d "$old" ]; then rm -rf "$old" && : > "$old" || exit; fi
done
mkdir -p "$2" && rm -f result && { [ -p "watch.$3" ] || mkfifo "watch.$3"; }
`;
