import {
  longestRecord,
  parseCurrentImage,
  revisionOf,
  setTag,
  tags,
  writeCurrentImage,
} from '../../../model/machine/current-image.js';
import { PluginError, type Shell, type SystemInput } from '../../contract.js';

const fileName = 'currentimage.txt';

/**
 * What names this machine or its users and must not go into an image. Outside of the home only where the home
 * is the system's own word for it: a machine that is a folder shares the rest with others.
 */
export const capturePrograms = `
set -eu
rm -rf "\${HOME:?}/.heddle"
rm -f "$HOME/.bash_history" "$HOME/.ash_history" "$HOME/.sh_history" "$HOME/.viminfo" "$HOME/.lesshst"
own=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6) || own=
if [ "$(id -u)" = 0 ] && [ "$own" = "$HOME" ]; then
  if [ -s /etc/machine-id ] && [ ! -L /etc/machine-id ]; then : >/etc/machine-id; fi
  rm -f /var/lib/dhcp/*.leases /etc/udev/rules.d/70-persistent-net.rules
fi
sync
`;

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

export function postLoadTag(text: string, at: string): string {
  return setTag(text, tags.postLoad, 'success', at);
}

/** Undefined where there is none. */
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
  const revision = record === undefined ? undefined : revisionOf(record);
  return { text: stdout, revision };
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
