import type { JsonObject } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';

/** Bytes that a result file may have. */
export const largestResult = 8 * 1024;

/**
 * Reads what a script wrote to the file named by HEDDLE_RESULT: a `key=value` a line, blank lines passed
 * over. Values are text as they stand; the last of two equal keys counts.
 * @throws PluginError ScriptFailed, naming the line: the run has ended, and a retry needs another one.
 */
export function parseResults(bytes: Uint8Array): JsonObject {
  if (bytes.length > largestResult)
    throw new PluginError(
      'ScriptFailed',
      `HEDDLE_RESULT holds more than ${largestResult} bytes; write less, or leave large data on the node`,
    );
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/);
  const entries = lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const match = /^([A-Za-z][A-Za-z0-9._-]{0,63})=(.*)$/s.exec(line);
    if (match === null) {
      throw new PluginError(
        'ScriptFailed',
        `HEDDLE_RESULT line ${index + 1}: ${JSON.stringify(line.slice(0, 80))} is not key=value with a key of letters, digits, '.', '_' or '-'`,
      );
    }
    return [[match[1] ?? '', match[2] ?? ''] as const];
  });
  return Object.fromEntries(entries);
}
