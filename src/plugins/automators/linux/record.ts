import { parseCurrentImage, revisionOf, writeCurrentImage } from '../../../model/machine/current-image.js';
import * as file from '../../../model/machine/record-file.js';
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
): Promise<{ readonly text: string; readonly revision?: string } | undefined> {
  const { exitCode, stdout, stderr } = await shell.exec(file.readRecord(), { timeoutMs: 20_000 });
  if (exitCode === file.noRecordCode) return undefined;
  if (exitCode !== 0)
    throw new PluginError(
      'Retryable',
      `${file.recordFile} could not be read: exit code ${exitCode} ${stderr.trim().slice(0, 200)}`,
    );
  const record = parseCurrentImage(stdout);
  return { text: stdout, revision: record && revisionOf(record) };
}

export async function writeRecord(shell: Shell, text: string): Promise<void> {
  const words = file.writeRecord(Buffer.byteLength(text));
  const { exitCode, stderr } = await shell.exec(words, { stdin: text, timeoutMs: 20_000 });
  if (exitCode !== 0)
    throw new PluginError(
      'Invalid',
      `${file.recordFile} cannot be written: exit code ${exitCode} ${stderr.trim().slice(0, 200)}`,
    );
}
