import {
  longestRecord,
  parseCurrentImage,
  revisionOf,
  writeCurrentImage,
} from '../../../model/machine/current-image.js';
import { PluginError, type Shell, type SystemInput } from '../../contract.js';

const fileName = 'currentimage.txt';

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
  const { exitCode, stdout, stderr } = await shell.exec(
    [
      'sh',
      '-c',
      `if [ -e "\${HOME:?}/${fileName}" ]; then head -c ${longestRecord} "$HOME/${fileName}"; else exit 44; fi`,
    ],
    { timeoutMs: 20_000 },
  );
  if (exitCode === 44) return undefined;
  if (exitCode !== 0)
    throw new PluginError(
      'Retryable',
      `${fileName} could not be read: exit code ${exitCode} ${stderr.slice(0, 200)}`,
    );
  const record = parseCurrentImage(stdout);
  return { text: stdout, revision: record && revisionOf(record) };
}

export async function writeRecord(shell: Shell, text: string): Promise<void> {
  const { exitCode, stdout, stderr } = await shell.exec(['sh', '-c', 'printf %s "${HOME:?}"'], {
    timeoutMs: 20_000,
  });
  if (exitCode !== 0)
    throw new PluginError(
      'Retryable',
      `the home folder is not known: exit code ${exitCode} ${stderr.slice(0, 200)}`,
    );
  await shell.putFile(`${stdout}/${fileName}`, text, { mode: 0o644 });
}
