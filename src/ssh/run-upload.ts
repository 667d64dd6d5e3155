import { createHash } from 'node:crypto';
import type { Script, ScriptFile } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import { quoteWord, quoteWords } from './quote.js';
import { compact } from './remote-command.js';
import { supervisorProgram } from './remote/supervisor.js';
import type { Turn } from './run-options.js';

/** What starts a run: the shell text of a function `upload` for a run folder and a turn. */
export type RunUpload = (run: string, turn: string) => string;

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

/** Names of the upload's own files. */
const fileNames = new Set(['script', 'stdin', 'runner', 'mask', 'who']);

const supervisor = compact(supervisorProgram);

/**
 * Packs the script, its standard input and the supervisor's program.
 * @throws PluginError Invalid for an environment or a timeout that cannot be.
 */
export function packUpload(script: Script): RunUpload {
  const timeout = timeoutSeconds(script.timeoutMs);
  const enter = enterFunction(script);
  const data = [
    putCommand('script', script.text),
    putCommand('stdin', script.stdin ?? ''),
    ...(script.files ?? []).map(putFileCommand),
  ].join('');
  return (run, turn) => {
    const settings = `timeout=${timeout}\nrun=${quoteWord(run)}\nturn=${quoteWord(turn)}\n`;
    return `upload() {\n${data}${putCommand('runner', `${settings}${enter}${supervisor}\n`)}}\n`;
  };
}

function putFileCommand({ name, content, executable }: ScriptFile): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/.test(name) || fileNames.has(name))
    throw new PluginError('Invalid', `files: ${JSON.stringify(name)} cannot name a file of the run`);
  return `${putCommand(name, content)}${executable === true ? `chmod 700 "$up/${name}"\n` : ''}`;
}

/** Writes a file of the upload. Shell text cannot contain NUL. */
function putCommand(file: string, content: string): string {
  if (!content.includes('\0')) return `put ${file} %s ${quoteWord(content)}\n`;
  const escaped = content.replaceAll('\\', '\\0134').replaceAll('\0', '\\0000');
  return `put ${file} %b ${quoteWord(escaped)}\n`;
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
 * A turn as the node reads it, in words that are parts of file names there: the time has a fixed width, so
 * that names stand in its order.
 * @throws PluginError Invalid for a time that is none.
 */
export function turnText(turn: Turn | undefined): string {
  if (turn === undefined) return '';
  const { node, time, operation } = turn;
  if (!Number.isSafeInteger(time) || time < 0 || time > 9e12)
    throw new PluginError('Invalid', `a turn cannot begin at ${time}: give ms since the epoch`);
  const short = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${short(node)} ${String(time).padStart(13, '0')} ${/^[A-Za-z0-9_-]{1,64}$/.test(operation) ? operation : short(operation)}`;
}

/**
 * Sets the environment and becomes the interpreter. Stands in a file that only its owner reads, never in an
 * argument.
 */
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
      throw new PluginError('Invalid', `environment: the value of ${name} holds a NUL character`);
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
      'interpreter: give the program that reads the script, and its arguments',
    );
  }
  if (words.some((word) => word.includes('\0')))
    throw new PluginError('Invalid', 'arguments: a word holds a NUL character');
  const command = `${quoteWords(interpreter)} "$HEDDLE_RUN/script"${words.map((word) => ` ${quoteWord(word)}`).join('')}`;
  return `enter() {\n${settings.join('')}${paths.join('')}exec ${command}\n}\n`;
}

/** Whole seconds: not every sleep knows parts of one. */
function timeoutSeconds(timeoutMs: number | undefined): string {
  if (timeoutMs === undefined) return '';
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0)
    throw new PluginError('Invalid', `timeout: ${timeoutMs} ms is no time to run`);
  return String(Math.ceil(timeoutMs / 1000));
}
