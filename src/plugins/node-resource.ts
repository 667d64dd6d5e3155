import { readFile } from 'node:fs/promises';
import { PluginError, type RunOutcome, type Shell, type TaskResource } from './contract.js';

/**
 * Uploads a resource to the node, into a folder of the login's home named by its content, so equal content is
 * uploaded once. Removes resources that no task has used for a month.
 * @returns the absolute path on the node of the file, or of the archive's folder.
 */
export async function bringToNode(
  shell: Shell,
  { resource, digest, format, path, archive }: TaskResource,
): Promise<string> {
  const name = digest.slice('sha256:'.length);
  const exec = (script: string): Promise<RunOutcome> =>
    shell.exec(['sh', '-c', script, 'heddle', name, format, resource]);
  const place = await exec(findPlace);
  const [state, placePath = ''] = place.stdout.split('\n');
  if (place.exitCode !== 0 || !placePath.startsWith('/'))
    throw failure(`cannot create the folder of resource ${resource} on the node`, place);
  if (state === 'there') return placePath;
  const content = await readFile(archive ?? path);
  if (format === 'file') {
    await shell.putFile(`.heddle/resources/${name}/${resource}`, content, { mode: 0o700 });
    return placePath;
  }
  await shell.putFile(`.heddle/resources/${name}.tar`, content);
  const unpacked = await exec(unpack);
  if (unpacked.exitCode === 0) return placePath;
  throw failure(`cannot unpack resource ${resource} on the node`, unpacked);
}

function failure(message: string, { exitCode, stderr }: RunOutcome): PluginError {
  const why = stderr.trim() || `exit code ${exitCode}`;
  return new PluginError('ScriptFailed', `${message}: ${why}`, { exitCode });
}

const findPlace = `
umask 077
mkdir -p "$HOME/.heddle/resources" && cd "$HOME/.heddle/resources" || exit
if [ "$2" = file ]; then
  mkdir -p "$1" && touch "$1" || exit
  if [ -f "$1/$3" ]; then echo there; else echo absent; fi
  printf '%s\\n' "$PWD/$1/$3"
else
  if [ -d "$1" ]; then touch "$1"; echo there; else echo absent; fi
  printf '%s\\n' "$PWD/$1"
fi
`;

/**
 * Unpacks the archive, which the worker has checked, beside its place and renames it, so it
 * appears atomically.
 */
const unpack = `
umask 077
cd "$HOME/.heddle/resources" || exit
aside=.$1.$$
mkdir "$aside" && tar -x -o -f "$1.tar" -C "$aside" && { [ -d "$1" ] || mv "$aside" "$1"; } || { rm -rf "$aside"; exit 1; }
touch "$1"
rm -rf "$aside" "$1.tar"
find . ! -name . -prune -mtime +30 -exec rm -rf {} +
`;
