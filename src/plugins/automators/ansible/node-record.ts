import { randomUUID } from 'node:crypto';
import { isJsonObject } from '../../../model/json.js';
import { PluginError, type Json, type JsonObject, type Shell } from '../../contract.js';
import type { NodePlace } from './inventory.js';
import { endSessions, folder } from './watch.js';

/** What is known on the node of the plays of one run of a task. */
export interface NodeRecord {
  /** Names the run; the same for all attempts of it. */
  readonly id: string;
  readonly place: NodePlace;
  /** How the run ended, if an earlier attempt saw its end. */
  readonly outcome?: Outcome;
  /** An earlier attempt began, and nobody saw its end. */
  readonly interrupted: boolean;
}

/** How a play ended, as later attempts hear of it. */
export type Outcome =
  | { readonly ok: true; readonly result: JsonObject; readonly stdout: string }
  | { readonly ok: false; readonly message: string; readonly exitCode: number; readonly stdout: string; readonly stderr: string };

/**
 * Looks what earlier attempts of this run left on the node. Several attempts, on whatever worker, agree on the run's id by
 * a script that runs once.
 */
export async function readRecord(shell: Shell): Promise<NodeRecord> {
  const claimed = await shell.run({ name: 'begin', text: 'cat', stdin: randomUUID() });
  const id = claimed.stdout.trim();
  if (claimed.exitCode !== 0 || !/^[\da-f-]{36}$/.test(id)) throw new PluginError('UnknownOutcome', `the node did not tell which play this is: ${claimed.stderr.trim()}`);
  const { stdout } = await must(shell, 'looks for earlier plays', look, [id]);
  const [home = '', before = '', ...rest] = stdout.split('\n');
  const outcome = readOutcome(rest.join('\n'));
  const base = `${home}/${folder}/${id}`;
  return { id, interrupted: before !== '', place: { tmp: `${base}/${randomUUID()}`, result: `${base}/result` }, ...(outcome === undefined ? {} : { outcome }) };
}

/** Makes this attempt the only one that can do anything on the node, and ends what earlier ones still have running there. */
export async function takeOver(shell: Shell, { id, place }: NodeRecord): Promise<void> {
  await must(shell, 'makes a place for the play', begin, [id, place.tmp]);
  await must(shell, 'ends an earlier attempt', endSessions, [`${folder}/${id}`]);
}

/** Keeps how the play ended for later attempts of the same run, and lets its watch go. */
export async function keepOutcome(shell: Shell, { id }: NodeRecord, outcome: Outcome): Promise<void> {
  await shell.putFile(`${folder}/${id}/outcome`, JSON.stringify(outcome));
  await must(shell, 'ends its watch', 'cd "$HOME/$1" && if [ -p watch ]; then { : > watch & } fi', [`${folder}/${id}`]);
}

async function must(shell: Shell, what: string, script: string, words: readonly string[]) {
  const outcome = await shell.exec(['sh', '-c', script, 'heddle', ...words]);
  if (outcome.exitCode !== 0) throw new PluginError('ScriptFailed', `automator ansible ${what}: ${outcome.stderr.trim()}`, { ...outcome });
  return outcome;
}

function readOutcome(text: string): Outcome | undefined {
  if (text.trim() === '') return undefined;
  const value = JSON.parse(text) as Json;
  return isJsonObject(value) && typeof value['ok'] === 'boolean' ? value as unknown as Outcome : undefined;
}

/** Prints the home, whether an attempt began before, and the outcome if there is one. Old runs are cleared away. */
const look = `
umask 077
mkdir -p "$HOME/${folder}" && cd "$HOME/${folder}" || exit
find . -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} + 2> /dev/null
printf '%s\\n' "$HOME"
if [ -d "$1" ]; then echo before; else echo; fi
if [ -f "$1/outcome" ]; then cat "$1/outcome"; fi
`;

/** In the place of an earlier attempt's folder stands a file afterwards, so that it cannot send another module. */
const begin = `
umask 077
mkdir -p "$HOME/${folder}/$1" && cd "$HOME/${folder}/$1" || exit
for old in *-*; do
  if [ -d "$old" ]; then rm -rf "$old" && : > "$old" || exit; fi
done
mkdir -p "$2" && rm -f result && { [ -p watch ] || mkfifo watch; }
`;
