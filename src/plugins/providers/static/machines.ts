import { z } from 'zod';
import type { FieldFault } from '../../../model/field-fault.js';
import type { Json, JsonObject } from '../../../model/json.js';
import { machineOfSlot as nameOfSlot } from '../../../model/names.js';
import type { PluginLog } from '../../contract.js';
import { PluginError } from '../../errors.js';
import {
  address,
  faultsOf,
  hostKeys,
  nameOfLength,
  parseFields,
  port,
  secret,
  text,
} from '../../provider-base/fields.js';
import { checkEntries } from '../../inventory/check-entries.js';
import type { StaticFields } from './field-types.js';
import { readInventory } from '../../inventory/read-inventory.js';

const machineSchema = z.strictObject({
  name: nameOfLength(100),
  address,
  port: port.optional(),
  user: text.optional(),
  password: secret.optional(),
  key: secret.optional(),
  keyFile: text.optional(),
  agent: secret.optional(),
  hostKey: hostKeys.optional(),
  flavor: text.optional(),
  image: text.optional(),
  slots: z.int().min(1).max(1_000).optional(),
});

const machinesSchema = z.array(machineSchema);

export interface StaticMachine {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  /** For the payload: user, and credentials as references. */
  readonly sshAuth: JsonObject;
  readonly hostKeys: readonly string[];
  readonly flavor: string | undefined;
  readonly image: string | undefined;
  /** How many nodes it takes at a time. */
  readonly slots: number;
}

export interface StaticAccount {
  readonly machines: readonly StaticMachine[];
  readonly knownHosts: string | undefined;
  /** Whether a machine must answer before it is taken. */
  readonly liveness: StaticFields['liveness'];
  /** The administrator's programs for notifications. */
  readonly programs: StaticFields['programs'];
}

/** What is wrong with the machines of the account; those of its inventory are checked when it is read. */
export function machineFaults({
  machines = [],
  inventory,
  groups,
}: Partial<StaticFields>): readonly FieldFault[] {
  const faults = faultsOf(machinesSchema, 'machines', machines);
  if (faults.length > 0) return faults;
  return [
    ...(groups !== undefined && inventory === undefined
      ? [{ path: ['groups'], wrong: 'has no effect without inventory' }]
      : []),
    ...(machines.length === 0 && inventory === undefined
      ? [{ path: ['machines'], wrong: 'must not be empty' }]
      : []),
    ...findDuplicates(machinesSchema.parse(machines)),
  ];
}

/**
 * Reads the account's machines, and the inventory that its fields name.
 * @throws PluginError Invalid that names every wrong place; values are not quoted, for they may be secret.
 */
export async function readAccount(
  account: StaticFields,
  provider: string,
  log: Pick<PluginLog, 'warn'>,
): Promise<StaticAccount> {
  const machines = [
    ...parseFields(machinesSchema, account.machines ?? [], `machines of provider ${provider}`),
    ...(account.inventory === undefined ? [] : await machinesOf(account.inventory, account.groups, log)),
  ];
  const wrong =
    machines.length === 0 ? [{ path: ['machines'], wrong: 'must not be empty' }] : findDuplicates(machines);
  if (wrong.length > 0)
    throw new PluginError(
      'Invalid',
      `provider ${provider} in heddle.yaml is invalid: ${wrong.map((fault) => `${fault.path.join('.')}: ${fault.wrong}`).join('; ')}`,
    );
  return {
    knownHosts: account.knownHosts,
    liveness: account.liveness,
    programs: account.programs,
    machines: machines.map((machine) => ({
      name: machine.name,
      address: machine.address,
      port: machine.port ?? account.port,
      sshAuth: { user: machine.user ?? account.user, ...credentials(machine, account) },
      hostKeys: [machine.hostKey ?? []].flat(),
      flavor: machine.flavor,
      image: machine.image,
      slots: machine.slots ?? account.slots,
    })),
  };
}

type WrittenMachine = z.output<typeof machineSchema>;

async function machinesOf(
  file: string,
  groups: readonly string[] | undefined,
  log: Pick<PluginLog, 'warn'>,
): Promise<readonly WrittenMachine[]> {
  return checkEntries(machineSchema, await readInventory({ file, groups, log }), file);
}

interface Credentials {
  readonly password?: Json | undefined;
  readonly key?: Json | undefined;
  readonly keyFile?: string | undefined;
  readonly agent?: Json | undefined;
}

/**
 * The machine's own credentials, else the account's; a key file is named, not read: its content stays where
 * it is.
 */
function credentials(machine: Credentials, account: Credentials): JsonObject {
  const { password, key, keyFile, agent } =
    [machine, account].find((from) => from.password ?? from.key ?? from.keyFile ?? from.agent) ?? {};
  const usedKey = key ?? (keyFile === undefined ? undefined : { secret: `file:${keyFile}` });
  return {
    ...(password === undefined ? {} : { password }),
    ...(usedKey === undefined ? {} : { key: usedKey }),
    ...(agent === undefined ? {} : { agent }),
  };
}

/** One machine under two names would be given away twice. */
function findDuplicates(machines: readonly WrittenMachine[]): readonly FieldFault[] {
  const names = new Set<string>();
  const places = new Map<string, string>();
  return machines.flatMap(({ name, address, port }, index) => {
    const place = `${address} ${port}`;
    const sameName = names.has(name);
    const samePlace = places.get(place);
    names.add(name);
    places.set(place, samePlace ?? name);
    return [
      ...(sameName ? [{ path: ['machines', index, 'name'], wrong: `${name} is duplicated` }] : []),
      ...(samePlace === undefined
        ? []
        : [{ path: ['machines', index, 'address'], wrong: `${name} is the same machine as ${samePlace}` }]),
    ];
  });
}

/**
 * Slots of machines, as they are claimed: `NAME` is the first, `NAME#2` the second. The first ones of all
 * machines come before the second ones, so that nodes spread.
 */
export function slotsOf(machines: readonly StaticMachine[]): readonly string[] {
  const most = Math.max(0, ...machines.map(({ slots }) => slots));
  return Array.from({ length: most }, (_, index) =>
    machines
      .filter(({ slots }) => slots > index)
      .map(({ name }) => (index === 0 ? name : `${name}#${index + 1}`)),
  ).flat();
}

/** Whose place it is; there may be fewer places by now than when it was taken. */
export function machineOfSlot(machines: readonly StaticMachine[], slot: string): StaticMachine | undefined {
  const name = nameOfSlot(slot);
  return machines.find((machine) => machine.name === name);
}
