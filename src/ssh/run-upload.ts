import { createHash } from 'node:crypto';
import { defaultRunFolders, type RunFolders } from '../model/node/run-folders.js';
import type { Script, ScriptFile } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import { quoteWord, quoteWords } from './quote.js';
import { settingsText } from './remote-command.js';
import type { Fence } from './run-options.js';

/** Names that a shell keeps for itself, and would not let us set. */
const shellNames = new Set([
  'UID',
  'EUID',
  'PPID',
  'GROUPS',
  'BASHOPTS',
  'SHELLOPTS',
  'BASH_VERSINFO',
  'HEDDLE_RUN',
  'HEDDLE_RESULT',
  'HEDDLE_DATA',
]);

/** Names of the run's own files. */
const fileNames = new Set(['script', 'stdin']);

/** What differs between the attempts of a run. */
interface RunVariables {
  readonly runs: string;
  readonly run: string;
  readonly id: string;
  readonly fence: string;
  readonly tag: string;
}

export interface PackedRun {
  /** Shell text that has a runner's shell carry out the run. */
  readonly text: (variables: RunVariables) => string;
  /** Texts that the node must have before, by digest. */
  readonly shared: ReadonlyMap<string, string>;
}

/** Longer shared texts are sent once per node, in characters. Shells read their program slowly. */
const longText = 4_096;

/**
 * Packs a script, its standard input and its files.
 * @throws PluginError Invalid for an environment or a timeout that cannot be.
 */
export function packRun(script: Script, bounds: RunFolders = defaultRunFolders): PackedRun {
  const timeout = timeoutSeconds(script.timeoutMs);
  const { files = [], stdin = '' } = script;
  const texts = files.flatMap(({ shared = '' }) => (shared.length > longText ? [shared] : []));
  const shared = new Map(texts.map((text) => [digestOf(text), text]));
  const commands = [
    putCommand('script', script.text),
    ...(stdin === '' ? [] : [putCommand('stdin', stdin)]),
    ...files.flatMap(putFileCommands),
  ].join(' &&\n');
  const input = stdin === '' ? '/dev/null' : 'up/stdin';
  const settings = { timeout, input, needs: [...shared.keys()].join(' '), ...boundsOf(bounds) };
  const enter = enterFunction(script);
  return {
    shared,
    // Braces: the shell parses all of it before it executes any, so a text that is cut has no effect.
    text: (variables) =>
      `{ (\n${settingsText({ ...variables, ...settings })}upload() {\n${commands}\n}\n${enter}run_script\n) < /dev/null; conclude $?; }\n`,
  };
}

function boundsOf({ days, count, sizeMb, outputMb }: RunFolders): Readonly<Record<string, number>> {
  return { keepdays: days, keepruns: count, keepkib: sizeMb * 1_024, most: outputMb * 1024 ** 2 };
}

/** Digests of the shared texts of late: many runs have the same. */
const digests = new Map<string, string>();

function digestOf(text: string): string {
  const known = digests.get(text);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
  if (digests.size >= 32) digests.clear();
  digests.set(text, digest);
  return digest;
}

function putFileCommands({ name, content, shared = '', executable }: ScriptFile): readonly string[] {
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/.test(name) || fileNames.has(name))
    throw new PluginError('Invalid', `files: ${JSON.stringify(name)} cannot name a file of the run`);
  const isLong = shared.length > longText;
  return [
    putCommand(name, isLong ? content : content + shared),
    ...(isLong ? [`cat "$runs/.shared/${digestOf(shared)}" >> up/${name}`] : []),
    ...(executable === true ? [`chmod 700 up/${name}`] : []),
  ];
}

/** Writes a file of the run. Shell text cannot contain NUL. */
function putCommand(file: string, content: string): string {
  if (!content.includes('\0')) return `put ${file} %s ${quoteWord(content)}`;
  const escaped = content.replaceAll('\\', '\\0134').replaceAll('\0', '\\0000');
  return `put ${file} %b ${quoteWord(escaped)}`;
}

/**
 * The folder name for a run id: readable, and distinct for distinct ids. The folder contains the id itself.
 * @throws PluginError Invalid if the id is empty or contains a control character.
 */
export function runFolderName(runId: string): string {
  if (!/^[^\p{Cc}]+$/u.test(runId))
    throw new PluginError('Invalid', 'a run id is one line of text, without control characters');
  const digest = createHash('sha256').update(runId).digest('hex').slice(0, 16);
  return `${runId
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[.-]/, '_')
    .slice(0, 120)}-${digest}`;
}

/**
 * A fence as the node reads it, in words that are parts of file names there. The time has a fixed width, so
 * names sort by it.
 * @throws PluginError Invalid if the time is not in ms since the epoch.
 */
export function fenceText(fence: Fence | undefined): string {
  if (fence === undefined) return '';
  const { node, time, operation } = fence;
  if (!Number.isSafeInteger(time) || time < 0 || time > 9e12)
    throw new PluginError('Invalid', `the time of a fence is in ms since the epoch, not ${time}`);
  const short = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${short(node)} ${String(time).padStart(13, '0')} ${/^[A-Za-z0-9_-]{1,64}$/.test(operation) ? operation : short(operation)}`;
}

/** Sets the environment and becomes the interpreter, started by the words that it gets. */
function enterFunction(script: Script): string {
  const { files = [], arguments: words = [] } = script;
  const settings = Object.entries(script.environment ?? {}).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new PluginError(
        'Invalid',
        `environment: ${JSON.stringify(name)} cannot name a variable; use letters, digits and _`,
      );
    }
    if (shellNames.has(name))
      throw new PluginError('Invalid', `environment: ${name} is kept by the shell; use another name`);
    if (value.includes('\0'))
      throw new PluginError('Invalid', `environment: the value of ${name} contains a NUL character`);
    return `export ${name}=${quoteWord(value)}\n`;
  });
  const paths = files.flatMap(({ name, variable, executable }) => [
    ...(variable === undefined ? [] : [`export ${variable}="$HEDDLE_RUN/${name}"\n`]),
    ...(executable === true ? ['export PATH="${PATH:+$PATH:}$HEDDLE_RUN"\n'] : []),
  ]);
  const interpreter = script.interpreter ?? ['/bin/sh'];
  if (interpreter.length === 0 || interpreter.some((word) => word.includes('\0'))) {
    throw new PluginError(
      'Invalid',
      'interpreter: specify the program that reads the script, and its arguments',
    );
  }
  if (words.some((word) => word.includes('\0')))
    throw new PluginError('Invalid', 'arguments: a word contains a NUL character');
  const command = `"$@" ${quoteWords(interpreter)} "$HEDDLE_RUN/script"${words.map((word) => ` ${quoteWord(word)}`).join('')}`;
  return `enter() {\n${settings.join('')}${paths.join('')}exec ${command}\n}\n`;
}

/** Whole seconds: not every sleep knows parts of one. */
function timeoutSeconds(timeoutMs: number | undefined): string {
  if (timeoutMs === undefined) return '';
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0)
    throw new PluginError('Invalid', `timeout: ${timeoutMs} ms is not a valid timeout`);
  return String(Math.ceil(timeoutMs / 1000));
}
