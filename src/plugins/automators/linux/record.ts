import { parseCurrentImage, revisionOf, writeCurrentImage } from '../../../model/machine/current-image.js';
import {
  readRecordCommand,
  recordIn,
  whyNotWritten,
  writeRecordCommand,
} from '../../../model/machine/record-file.js';
import { PluginError, type Shell, type SystemInput } from '../../contract.js';

export function freshRecord({ image, machine, at }: SystemInput): string {
  return writeCurrentImage({
    name: image.name,
    id: `${image.name}@${image.revision}`,
    prettyName: image.name,
    revision: image.revision,
    createdAt: at,
    machineId: machine.id,
    hostname: machine.hostname,
  });
}

/** Undefined if there is none. */
export async function readRecord(
  shell: Shell,
): Promise<{ readonly text: string; readonly name?: string; readonly revision?: string } | undefined> {
  const read = recordIn(await shell.exec(readRecordCommand(), { timeoutMs: 20_000 }));
  if ('why' in read) throw new PluginError('Retryable', read.why);
  if (read.text === undefined) return undefined;
  const record = parseCurrentImage(read.text);
  return { text: read.text, name: record?.name, revision: record && revisionOf(record) };
}

export async function writeRecord(shell: Shell, text: string): Promise<void> {
  const why = whyNotWritten(await shell.exec(writeRecordCommand(text), { stdin: text, timeoutMs: 20_000 }));
  if (why !== undefined) throw new PluginError('Invalid', why);
}
