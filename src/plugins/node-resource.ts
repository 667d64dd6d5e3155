import { readFile } from 'node:fs/promises';
import { PluginError, type Shell, type TaskResource } from './contract.js';

/**
 * Brings a resource to the node, into a folder of the login's home that its content names: the same content
 * is brought once, however often it is asked for. What no task needed for a month is removed on the way.
 * @returns the absolute path on the node of the file, or of the folder of what the archive holds.
 */
export async function bringToNode(
  shell: Shell,
  { resource, digest, format, path, archive }: TaskResource,
): Promise<string> {
  const name = digest.slice('sha256:'.length);
  const first = await look(shell, { name, format, resource });
  if (first.there) return first.path;
  await shell.putFile(
    format === 'file' ? `.heddle/resources/${name}/${resource}` : `.heddle/resources/${name}.tar`,
    await readFile(archive ?? path),
    format === 'file' ? { mode: 0o700 } : {},
  );
  if (format === 'file') return first.path;
  const { exitCode, stderr } = await shell.exec(['sh', '-c', unpack, 'heddle', name]);
  if (exitCode === 0) return first.path;
  throw new PluginError(
    'ScriptFailed',
    `resource ${resource} cannot be unpacked on the node: ${stderr.trim() || `exit code ${exitCode}`}`,
    { exitCode },
  );
}

async function look(
  shell: Shell,
  { name, format, resource }: { readonly name: string; readonly format: string; readonly resource: string },
): Promise<{ readonly there: boolean; readonly path: string }> {
  const { exitCode, stdout, stderr } = await shell.exec([
    'sh',
    '-c',
    lookFor,
    'heddle',
    name,
    format,
    resource,
  ]);
  const [state, path = ''] = stdout.split('\n');
  if (exitCode === 0 && path.startsWith('/')) return { there: state === 'there', path };
  throw new PluginError(
    'ScriptFailed',
    `the node has no place for resource ${resource}: ${stderr.trim() || `exit code ${exitCode}`}`,
    { exitCode },
  );
}

const lookFor = `
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
 * The archive was checked on the worker. It is unpacked beside its place and renamed, so half of it is never
 * taken for the whole.
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
