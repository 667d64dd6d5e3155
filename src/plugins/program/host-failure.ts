import { copyPlainJson } from '../../schema/plain-json.js';
import { isPluginError } from '../errors.js';
import type { ErrorMessage } from './protocol.js';

/** Longest message and stack that are sent, in characters. */
const longest = 8 * 1024;

/** The answer for what a plugin threw, of whatever make. */
export function failureOf(thrown: unknown): object {
  if (!isPluginError(thrown)) return { status: 1, error: internal(thrown) };
  const { kind, message, retryAfterMs, exitCode, stdout, stderr, cause, result } = thrown;
  const copy = result === undefined ? undefined : copyPlainJson(result, { bytes: longest, depth: 16 });
  const error: ErrorMessage = {
    kind,
    message: textOf(message, 'no message'),
    ...(typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? { retryAfterMs } : {}),
    ...(Number.isSafeInteger(exitCode) && exitCode !== undefined ? { exitCode } : {}),
    ...(typeof stdout === 'string' ? { stdout: stdout.slice(-longest) } : {}),
    ...(typeof stderr === 'string' ? { stderr: stderr.slice(-longest) } : {}),
    ...(cause instanceof Error ? { cause: describe(cause) } : {}),
  };
  return { status: 1, error, ...(copy?.ok === true ? { result: copy.value } : {}) };
}

function internal(thrown: unknown): ErrorMessage {
  if (thrown instanceof Error)
    return { kind: 'Internal', message: textOf(thrown.message, thrown.name), cause: describe(thrown) };
  return {
    kind: 'Internal',
    message: `threw ${typeof thrown === 'string' ? `"${thrown.slice(0, longest)}"` : wordFor(thrown)}`,
  };
}

function describe({ name, message, stack }: Error): {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
} {
  return {
    name: textOf(name, 'Error'),
    message: textOf(message, ''),
    ...(typeof stack === 'string' ? { stack: stack.slice(0, longest) } : {}),
  };
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value.slice(0, longest) : otherwise;
}

/** What is no text may throw when it is made one. */
function wordFor(thrown: unknown): string {
  try {
    return String(thrown).slice(0, longest);
  } catch {
    return `a ${typeof thrown}`;
  }
}
