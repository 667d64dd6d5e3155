import { createHash } from 'node:crypto';
import type { Script } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import { quoteWord, quoteWords } from './quote.js';
import { compact } from './remote-command.js';
import { supervisorProgram } from './remote/supervisor.js';

/** What is sent to start a run: three files in one stretch, and the sizes that tell them apart. */
export interface RunUpload {
  readonly bytes: Buffer;
  readonly sizes: { readonly total: number; readonly n1: number; readonly n2: number; readonly n3: number };
}

/** Names that a shell keeps for itself, and would not let us set. */
const shellNames = new Set(['UID', 'EUID', 'PPID', 'GROUPS', 'BASHOPTS', 'SHELLOPTS', 'BASH_VERSINFO', 'HEDDLE_RUN', 'HEDDLE_RESULT']);

const supervisor = compact(supervisorProgram);

/** @throws PluginError Invalid for an environment or a timeout that cannot be. */
export function packUpload(script: Script): RunUpload {
  const runner = Buffer.from(`timeout=${timeoutSeconds(script.timeoutMs)}\n${enterFunction(script)}${supervisor}\n`);
  const text = Buffer.from(script.text);
  const stdin = Buffer.from(script.stdin ?? '');
  const bytes = Buffer.concat([runner, text, stdin]);
  return { bytes, sizes: { total: bytes.length, n1: runner.length, n2: text.length, n3: stdin.length } };
}

/**
 * The folder's name for a run id: readable, and different for different ids. The id itself stands in the folder.
 * @throws PluginError Invalid for an id that is empty or holds a control character.
 */
export function runFolderName(runId: string): string {
  if (!/^[^\p{Cc}]+$/u.test(runId)) throw new PluginError('Invalid', 'a run id is one line of text, without control characters');
  const digest = createHash('sha256').update(runId).digest('hex').slice(0, 16);
  return `${runId.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^[.-]/, '_').slice(0, 120)}-${digest}`;
}

/** Sets the environment and becomes the interpreter. Stands in a file that only its owner reads, never in an argument. */
function enterFunction(script: Script): string {
  const settings = Object.entries(script.environment ?? {}).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new PluginError('Invalid', `environment: ${JSON.stringify(name)} cannot name a variable; use letters, digits and _`);
    }
    if (shellNames.has(name)) throw new PluginError('Invalid', `environment: ${name} is kept by the shell; use another name`);
    if (value.includes('\0')) throw new PluginError('Invalid', `environment: the value of ${name} holds a NUL character`);
    return `export ${name}=${quoteWord(value)}\n`;
  });
  const interpreter = script.interpreter ?? ['/bin/sh'];
  if (interpreter.length === 0 || interpreter.some((word) => word.includes('\0'))) {
    throw new PluginError('Invalid', 'interpreter: give the program that reads the script, and its arguments');
  }
  return `enter() {\n${settings.join('')}exec ${quoteWords(interpreter)} "$HEDDLE_RUN/script"\n}\n`;
}

/** Whole seconds: not every sleep knows parts of one. */
function timeoutSeconds(timeoutMs: number | undefined): string {
  if (timeoutMs === undefined) return '';
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0) throw new PluginError('Invalid', `timeout: ${timeoutMs} ms is no time to run`);
  return String(Math.ceil(timeoutMs / 1000));
}
