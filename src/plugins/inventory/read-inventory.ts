import { dirname, extname, resolve, join } from 'node:path';
import { isJsonObject, type Json } from '../../model/json.js';
import { isCommand, possibleReferences } from '../../model/secret-reference.js';
import { PluginError, type PluginLog } from '../contract.js';
import { isTrusted, readTrustedFile } from '../trusted-file.js';
import { findCircle, hostsOf, variablesOf, type Groups } from './groups.js';
import { notOverSsh, toMachine } from './hosts.js';
import { readCsv } from './csv.js';
import { readIni } from './ini.js';
import { readVariableFiles } from './variable-files.js';
import { ownMachines, parseYaml, readYaml } from './yaml.js';
import { readdir, stat } from 'node:fs/promises';

/** A machine's entry in the file. */
export interface InventoryEntry {
  readonly value: Json;
  /** Its line; absent for hosts of an Ansible inventory, which are assembled from many places. */
  readonly line?: number;
}

interface Inventory {
  /** The usable machines. */
  readonly machines: readonly InventoryEntry[];
  /** Why the file or one of its machines cannot be used: Retryable if the file may be half written. */
  readonly faults: readonly PluginError[];
  /** Whether the file did not change recently. */
  readonly isSettled: boolean;
}

interface Reading extends Inventory {
  readonly warnings: readonly string[];
}

/**
 * The most recently read inventories, latest last: each call and login of many nodes reads the same large
 * files.
 */
const lastRead = new Map<string, { readonly version: string; readonly reading: Promise<Reading> }>();
const mostRead = 32;

/** Keys of an entry that only the registration of the machine uses. */
const registrationKeys = ['system', 'defaultImage', 'correct', 'groups', 'labels'] as const;

/** The entry without the keys that only its registration uses. */
export function withoutRegistration(value: Json): Json {
  if (!isJsonObject(value)) return value;
  const keys: readonly string[] = registrationKeys;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

export interface InventoryOptions {
  readonly file: string;
  /** Groups whose hosts are used. Default: all hosts. */
  readonly groups?: readonly string[] | undefined;
  readonly log: Pick<PluginLog, 'warn'>;
}

/**
 * Machines of an inventory file, as entries of `machines` in heddle.yaml: Heddle's own form (`machines:
 * [...]` in YAML or JSON, or a CSV table), or Ansible's in YAML or INI.
 * @throws PluginError Invalid naming the file and the place in it; Retryable if the file may be half written.
 */
export async function readInventory(options: InventoryOptions): Promise<readonly InventoryEntry[]> {
  const { machines, faults, isSettled } = await readUsable(options);
  const [fault] = faults;
  if (fault !== undefined) throw fault;
  if (machines.length === 0 && !isSettled)
    throw new PluginError(
      'Retryable',
      `inventory ${options.file} has no machines but was just changed: it may be half written`,
    );
  return machines;
}

/** The same without unusable machines, so that one wrong machine does not hide the others. */
export async function readUsable({ file, groups, log }: InventoryOptions): Promise<Inventory> {
  const { text: version, isSettled } = await versionOf(file);
  const key = JSON.stringify([file, groups ?? null]);
  const last = lastRead.get(key);
  lastRead.delete(key);
  const isKnown = last?.version === version && isTrusted(file);
  const reading = isKnown ? last.reading : readNew(file, groups, isSettled);
  if (isSettled) lastRead.set(key, { version, reading });
  const [oldest] = lastRead.keys();
  if (lastRead.size > mostRead && oldest !== undefined) lastRead.delete(oldest);
  const { warnings, ...inventory } = await reading;
  // A file that could not be read may become readable without a change.
  if (inventory.machines.length === 0) lastRead.delete(key);
  for (const warning of warnings) log.warn(warning);
  return inventory;
}

/** These failures last until a file changes; others, such as those of a network file system, may pass. */
const lastingCodes = ['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG'];

async function readNew(
  file: string,
  groups: readonly string[] | undefined,
  isSettled: boolean,
): Promise<Reading> {
  const warnings: string[] = [];
  const fault = (cause: unknown): PluginError => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
    const mayPass = !isSettled || (code !== undefined && !lastingCodes.includes(code));
    const isOfVariables = cause instanceof Error && 'path' in cause && cause.path !== file;
    const wrong =
      code === undefined || isOfVariables
        ? `: ${cause instanceof Error ? cause.message : String(cause)}`
        : ` ${whyUnread(file, code)}`;
    return new PluginError(mayPass ? 'Retryable' : 'Invalid', `inventory ${file}${wrong}`, { cause });
  };
  try {
    const text = await readTrustedFile(file);
    const log = { warn: (warning: string) => void warnings.push(warning) };
    const entries = await readEntries(text, { file, groups, log });
    const faults: PluginError[] = [];
    const machines = entries.flatMap((entry) => {
      const wrong = 'wrong' in entry ? entry.wrong : commandIn(entry);
      if (wrong !== undefined) faults.push(fault(wrong));
      return 'wrong' in entry || wrong !== undefined ? [] : [entry];
    });
    return { machines, faults, isSettled, warnings };
  } catch (error) {
    return { machines: [], faults: [fault(error)], isSettled, warnings };
  }
}

function whyUnread(file: string, code: string): string {
  return code === 'EISDIR'
    ? `is a folder; set a file, such as the output of: ansible-inventory -i ${file} --list --yaml`
    : 'cannot be read on this host';
}

type WrittenEntry = InventoryEntry | { readonly wrong: Error };

async function readEntries(text: string, options: InventoryOptions): Promise<readonly WrittenEntry[]> {
  const { file, groups } = options;
  if (text.startsWith('#!'))
    throw new Error('is a program; save its output as a file: ansible-inventory -i FILE --list --yaml');
  const own = readOwn(file, text);
  if (own === undefined)
    return ansibleMachines(isYaml(file) ? readYaml(parseYaml(text)) : readIni(text), options);
  if (groups !== undefined) throw new Error('contains machines instead of groups; remove the field groups');
  return own;
}

/** The machines of a file in Heddle's own form; undefined for another form. */
function readOwn(file: string, text: string): readonly InventoryEntry[] | undefined {
  return isYaml(file) ? ownMachines(text) : extname(file) === '.csv' ? readCsv(text) : undefined;
}

/** Inventories are shared, copied and generated, so they must not run anything on workers. */
function commandIn({ value, line }: InventoryEntry): Error | undefined {
  if (!possibleReferences(value).some(({ reference }) => isCommand(reference))) return undefined;
  const name = isJsonObject(value) && typeof value['name'] === 'string' ? ` of machine ${value['name']}` : '';
  return new Error(
    `${line === undefined ? '' : `line ${line}: `}a secret${name} is an exec: reference, which is not allowed in an inventory; use file:, env: or vault:, or define the machine in heddle.yaml`,
  );
}

function isYaml(file: string): boolean {
  return ['.yml', '.yaml', '.json'].includes(extname(file));
}

async function ansibleMachines(
  inventory: Groups,
  { file, groups, log }: InventoryOptions,
): Promise<readonly WrittenEntry[]> {
  const unknown = groups?.find((name) => !inventory.has(name));
  if (unknown !== undefined)
    throw new Error(`does not contain group ${unknown}; its groups are ${[...inventory.keys()].join(', ')}`);
  const circle = findCircle(inventory);
  if (circle !== undefined) throw new Error(`the groups ${circle.join(', ')} contain each other`);
  const folder = dirname(resolve(file));
  const files = await readVariableFiles(folder, log);
  return hostsOf(inventory, groups).flatMap((host): readonly WrittenEntry[] => {
    const variables = variablesOf(inventory, host, files);
    const reason = notOverSsh(variables);
    if (reason !== undefined) {
      log.warn(`host ${host} of inventory ${file} is skipped: ${reason}`);
      return [];
    }
    try {
      return [{ value: toMachine(host, variables, folder) }];
    } catch (error) {
      const wrong = `host ${host}: ${error instanceof Error ? error.message : String(error)}`;
      return [{ wrong: new Error(wrong, { cause: error }) }];
    }
  });
}

interface InventoryVersion {
  /** Unchanged while no file of the inventory changes. */
  readonly text: string;
  /**
   * Whether the last change is old enough; otherwise a file may be half written, or change again within one
   * tick of its clock.
   */
  readonly isSettled: boolean;
}

const settledAfterMs = 10_000;

/** The version of an inventory file and of `group_vars` and `host_vars` beside it, without reading them. */
async function versionOf(file: string): Promise<InventoryVersion> {
  const folder = dirname(resolve(file));
  const found: string[] = [];
  let changedMs = 0;
  const visit = async (path: string, depth: number): Promise<boolean> => {
    const stats = await stat(path, { bigint: true }).catch(() => undefined);
    if (stats === undefined) return false;
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = stats;
    changedMs = Math.max(changedMs, Number(ctimeMs));
    found.push([path, dev, ino, size, mtimeNs, ctimeNs].join(' '));
    if (depth > 0 && stats.isDirectory()) {
      const names = await readdir(path).catch(() => []);
      await Promise.all(names.map((name) => visit(join(path, name), depth - 1)));
    }
    return true;
  };
  const [isThere] = await Promise.all([
    visit(resolve(file), 0),
    visit(join(folder, 'group_vars'), 2),
    visit(join(folder, 'host_vars'), 2),
  ]);
  // Its folder changed when the file was removed, perhaps to be rewritten.
  if (!isThere) await visit(folder, 0);
  return { text: found.toSorted().join('\n'), isSettled: Math.abs(Date.now() - changedMs) > settledAfterMs };
}
