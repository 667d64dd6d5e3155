import { dirname, extname, resolve } from 'node:path';
import { isJsonObject, type Json } from '../../model/json.js';
import { isCommand, possibleReferences } from '../../model/secret-reference.js';
import { PluginError, type PluginLog } from '../contract.js';
import { readTrustedFile, UntrustedFile } from '../trusted-file.js';
import { findCircle, hostsOf, variablesOf, type Groups } from './groups.js';
import { notOverSsh, toMachine } from './hosts.js';
import { readCsv } from './csv.js';
import { readIni } from './ini.js';
import { readVariableFiles } from './variable-files.js';
import { ownMachines, parseYaml, readYaml } from './yaml.js';

/** A machine as the file has it. */
export interface InventoryEntry {
  readonly value: Json;
  /** Where it begins; absent for the hosts of an Ansible inventory, which are put together from many places. */
  readonly line?: number;
}

/** Machines by file, with the text that has them: logins of many nodes read the same large file. */
const lastRead = new Map<string, { readonly text: string; readonly machines: readonly InventoryEntry[] }>();

/** Keys of an entry that the registration of the machine uses, and providers do not. */
const registrationKeys = ['system', 'defaultImage', 'correct', 'groups', 'labels'] as const;

/** The entry without what only its registration uses. */
export function withoutRegistration(value: Json): Json {
  if (!isJsonObject(value)) return value;
  const keys: readonly string[] = registrationKeys;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

export interface InventoryOptions {
  readonly file: string;
  /** Groups whose hosts count; all hosts unless given. */
  readonly groups?: readonly string[] | undefined;
  readonly log: Pick<PluginLog, 'warn'>;
}

/**
 * Machines of an inventory file, as entries of `machines` in heddle.yaml: Heddle's own form (`machines:
 * [...]` in YAML or JSON, or a CSV table), or Ansible's in YAML or INI.
 * @throws PluginError Invalid that names the file and the place in it.
 */
export async function readInventory({
  file,
  groups,
  log,
}: InventoryOptions): Promise<readonly InventoryEntry[]> {
  const text = await readTrustedFile(file).catch((error: unknown) => {
    if (error instanceof UntrustedFile)
      throw new PluginError('Invalid', `inventory ${file}: ${error.message}`, { cause: error });
    const isFolder = error instanceof Error && 'code' in error && error.code === 'EISDIR';
    throw new PluginError(
      'Invalid',
      isFolder
        ? `inventory ${file} is a folder; name a file, such as one that this makes: ansible-inventory -i ${file} --list --yaml`
        : `inventory ${file} cannot be read on this host`,
      { cause: error },
    );
  });
  try {
    if (text.startsWith('#!'))
      throw new Error('is a program; keep what it tells as a file: ansible-inventory -i FILE --list --yaml');
    const last = lastRead.get(file);
    const own = last?.text === text ? last.machines : readOwn(file, text);
    if (own === undefined) {
      const inventory = isYaml(file) ? readYaml(parseYaml(text)) : readIni(text);
      return refuseCommands(await ansibleMachines(inventory, { file, groups, log }));
    }
    if (groups !== undefined) throw new Error('has machines, not groups; leave the field groups out');
    lastRead.set(file, { text, machines: refuseCommands(own) });
    return own;
  } catch (error) {
    throw new PluginError(
      'Invalid',
      `inventory ${file}: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}

/** The machines of a file in Heddle's own form; undefined if it has another. */
function readOwn(file: string, text: string): readonly InventoryEntry[] | undefined {
  return isYaml(file) ? ownMachines(text) : extname(file) === '.csv' ? readCsv(text) : undefined;
}

/** An inventory lists machines: it is shared, copied and generated, so it runs nothing on workers. */
function refuseCommands(entries: readonly InventoryEntry[]): readonly InventoryEntry[] {
  for (const { value, line } of entries) {
    const name =
      isJsonObject(value) && typeof value['name'] === 'string' ? ` of machine ${value['name']}` : '';
    if (possibleReferences(value).some(({ reference }) => isCommand(reference)))
      throw new Error(
        `${line === undefined ? '' : `line ${line}: `}a secret${name} is an exec: reference, which an inventory cannot have; use file:, env: or vault:, or write the machine in heddle.yaml`,
      );
  }
  return entries;
}

function isYaml(file: string): boolean {
  return ['.yml', '.yaml', '.json'].includes(extname(file));
}

async function ansibleMachines(
  inventory: Groups,
  { file, groups, log }: InventoryOptions,
): Promise<readonly InventoryEntry[]> {
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
      return [{ value: toMachine(host, variables, folder) }];
    } catch (error) {
      throw new Error(`host ${host}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  });
}
