import { readFile } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../../../../model/json.js';
import { PluginError, type PluginLog } from '../../../contract.js';
import { findCircle, hostsOf, variablesOf, type Groups } from './groups.js';
import { notOverSsh, toMachine } from './hosts.js';
import { readIni } from './ini.js';
import { readVariableFiles } from './variable-files.js';
import { parseYaml, readYaml } from './yaml.js';

export interface InventoryOptions {
  readonly file: string;
  /** Groups whose hosts count; all hosts unless given. */
  readonly groups?: readonly string[] | undefined;
  readonly log: Pick<PluginLog, 'warn'>;
}

/**
 * Machines of an inventory file, as entries of `machines` in heddle.yaml: Heddle's own form (`machines:
 * [...]` in YAML), or Ansible's in YAML or INI.
 * @throws PluginError Invalid that names the file and the place in it.
 */
export async function readInventory({ file, groups, log }: InventoryOptions): Promise<readonly Json[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const isFolder = error instanceof Error && 'code' in error && error.code === 'EISDIR';
    throw new PluginError(
      'Invalid',
      isFolder
        ? `inventory ${file} is a folder; name a file, such as one that this makes: ansible-inventory -i ${file} --list --yaml`
        : `inventory ${file} cannot be read on this worker`,
      { cause: error },
    );
  });
  try {
    if (text.startsWith('#!'))
      throw new Error('is a program; keep what it tells as a file: ansible-inventory -i FILE --list --yaml');
    const content = isYaml(file) ? parseYaml(text) : undefined;
    const own = ownMachines(content);
    if (own === undefined)
      return await ansibleMachines(isYaml(file) ? readYaml(content) : readIni(text), { file, groups, log });
    if (groups !== undefined) throw new Error('has machines, not groups; leave the field groups out');
    return own;
  } catch (error) {
    throw new PluginError(
      'Invalid',
      `inventory ${file}: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}

function isYaml(file: string): boolean {
  return ['.yml', '.yaml', '.json'].includes(extname(file));
}

function ownMachines(content: unknown): readonly Json[] | undefined {
  const { machines } = isJsonObject(content as Json) ? (content as JsonObject) : {};
  return Array.isArray(machines) ? (machines as readonly Json[]) : undefined;
}

async function ansibleMachines(
  inventory: Groups,
  { file, groups, log }: InventoryOptions,
): Promise<readonly Json[]> {
  const unknown = groups?.find((name) => !inventory.has(name));
  if (unknown !== undefined)
    throw new Error(`has no group ${unknown}; its groups are ${[...inventory.keys()].join(', ')}`);
  const circle = findCircle(inventory);
  if (circle !== undefined) throw new Error(`the groups ${circle.join(', ')} are in each other`);
  const folder = dirname(resolve(file));
  const files = await readVariableFiles(folder, log);
  return hostsOf(inventory, groups).flatMap((host) => {
    const variables = variablesOf(inventory, host, files);
    const reason = notOverSsh(variables);
    if (reason !== undefined) {
      log.warn(`host ${host} of inventory ${file} is passed over: ${reason}`);
      return [];
    }
    try {
      return [toMachine(host, variables, folder)];
    } catch (error) {
      throw new Error(`host ${host}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  });
}
