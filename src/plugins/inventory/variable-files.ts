import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import type { JsonObject } from '../../model/json.js';
import { hasErrorCode } from '../../model/system-error.js';
import type { PluginLog } from '../contract.js';
import { readTrustedFile, refuseUntrusted } from '../trusted-file.js';
import { asVariables, type VariableFiles } from './groups.js';
import { parseYaml, vaulted } from './yaml.js';

const endings = ['.yml', '.yaml', '.json', ''];

/**
 * Variables in `group_vars` and `host_vars` next to the inventory: NAME, NAME.yml, NAME.yaml, NAME.json, or a
 * folder NAME of such files. Files encrypted with ansible-vault are skipped with a warning.
 * @throws Error with the file.
 */
export async function readVariableFiles(
  folder: string,
  log: Pick<PluginLog, 'warn'>,
): Promise<VariableFiles> {
  const [groups, hosts] = await Promise.all(
    ['group_vars', 'host_vars'].map((name) => readFolder(join(folder, name), log)),
  );
  return { groups: groups ?? new Map(), hosts: hosts ?? new Map() };
}

async function readFolder(
  folder: string,
  log: Pick<PluginLog, 'warn'>,
): Promise<ReadonlyMap<string, JsonObject>> {
  const found = new Map<string, JsonObject>();
  for (const { path, name } of await entriesOf(folder)) {
    const files = (await stat(path)).isDirectory()
      ? (await entriesOf(path)).map((file) => file.path)
      : [path];
    for (const file of files) found.set(name, { ...found.get(name), ...(await readVariables(file, log)) });
  }
  return found;
}

async function entriesOf(
  folder: string,
): Promise<readonly { readonly path: string; readonly name: string }[]> {
  const entries = await readdir(folder).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  });
  if (entries.length > 0) refuseUntrusted('file', folder);
  return entries
    .filter((entry) => !entry.startsWith('.') && !entry.endsWith('~'))
    .toSorted()
    .flatMap((entry) => {
      const path = join(folder, entry);
      const ending = extname(entry);
      // Host names contain dots, too.
      return [{ path, name: endings.includes(ending) ? basename(entry, ending) : entry }];
    });
}

async function readVariables(file: string, log: Pick<PluginLog, 'warn'>): Promise<JsonObject> {
  const text = await readTrustedFile(file);
  if (text.startsWith(vaulted)) {
    log.warn(`${file} is encrypted with ansible-vault; its variables are ignored`);
    return {};
  }
  try {
    const variables = asVariables(parseYaml(text));
    if (variables === undefined) throw new Error('must be a mapping of variables');
    return variables;
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
