import type { Outputs, OutputValue } from '../../model/cluster/outputs.js';
import type { Json } from '../../model/json.js';
import type { OutputsDocument } from '../../schema/output/documents.js';
import { cleanLine } from '../clean-text.js';
import type { Output } from '../output.js';
import { messageOf } from '../report-error.js';
import type { Session } from '../session.js';

/**
 * The outputs without the values of secret ones; undefined if there are none. They only complete what a
 * command shows: if they cannot be read, it warns and continues.
 */
export async function readShownOutputs(
  { client, output }: Pick<Session, 'client' | 'output'>,
  cluster: string,
): Promise<OutputsDocument['outputs'] | undefined> {
  const outputs = await client.outputs(cluster).catch((error: unknown): Outputs => {
    output.note(`warning: the outputs cannot be read: ${cleanLine(messageOf(error))}`);
    return {};
  });
  return Object.keys(outputs).length === 0 ? undefined : withoutSecrets(outputs);
}

export function withoutSecrets(outputs: Outputs): OutputsDocument['outputs'] {
  return Object.fromEntries(Object.entries(outputs).map(([name, found]) => [name, withoutSecret(found)]));
}

function withoutSecret(output: OutputValue): OutputsDocument['outputs'][string] {
  if (output.secret !== true || !('value' in output)) return output;
  const { value: _value, ...rest } = output;
  return rest;
}

/** Below an empty line, each cut to the width of the terminal; nothing if there are none. */
export function printOutputsBelow(output: Output, outputs: OutputsDocument['outputs'] | undefined): void {
  if (outputs === undefined) return;
  output.line();
  output.table(['OUTPUT', 'VALUE'], rowsOf(outputs), { cut: true });
}

export function rowsOf(outputs: OutputsDocument['outputs']): readonly (readonly string[])[] {
  return Object.entries(outputs).map(([name, found]) => [name, cleanLine(shownValue(found))]);
}

function shownValue(output: OutputsDocument['outputs'][string]): string {
  if ('missing' in output) return `(none: ${output.missing})`;
  return output.value === undefined ? '(secret)' : textOf(output.value);
}

export function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
