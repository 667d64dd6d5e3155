import { z } from 'zod';
import type { FieldFault } from '../../model/field-fault.js';
import type { Json, JsonObject } from '../../model/json.js';
import { eraseMethods, type DiskToErase } from '../../model/machine/erase.js';
import { PluginError } from '../errors.js';
import { fillWords } from '../fill-words.js';
import { checkEntries } from '../inventory/check-entries.js';
import type { RealMachineFields } from './field-types.js';
import { imagingFaults, mac, usesImaging } from './imaging/imaging-fields.js';
import { readInventory, type InventoryOptions } from '../inventory/read-inventory.js';
import {
  address,
  faultsOf,
  faultsOfNamed,
  hostKeys,
  nameOfLength,
  parseFields,
  port,
  requireUniqueNames,
  secret,
  text,
} from '../provider-base/fields.js';

const command = z.array(z.string()).min(1);

/** Fields of every physical machine, whichever protocol its controller uses. */
const machineSchema = z.strictObject({
  name: nameOfLength(63),
  /** Of its system. */
  address,
  port: port.default(22),
  user: text.default('root'),
  password: secret.optional(),
  key: secret.optional(),
  hostKey: hostKeys.optional(),
  flavor: text.optional(),
  /** The interface for network boot, for `imaging`. */
  mac: mac.optional(),
  /** The disk that `imaging` writes. */
  disk: text.optional(),
});

const machinesSchema = z.array(machineSchema).min(1);

/** Inventory files are shared and copied, so secrets in them must be references. */
const reference = z.strictObject(
  { secret: text },
  { error: 'must be a reference, such as {secret: "file:PATH"}' },
);

/** A machine of an inventory file contains its controller. */
const inventoryMachineSchema = machineSchema.extend({
  password: reference.optional(),
  key: reference.optional(),
  keyFile: text.optional(),
  /** Used by the registration only; a load determines the machine's image. */
  image: text.optional(),
  controller: z
    .record(z.string(), z.json())
    .refine(({ password }) => typeof password === 'object', {
      error: 'must have a reference as its password, such as {secret: "file:PATH"}',
    }),
});

/**
 * The controllers by machine name; their entries depend on the provider type. Secrets of controllers are
 * resolved, those of machines are passed on as references.
 */
const controllersSchema = z.record(z.string(), z.record(z.string(), z.json()));

const eraseSchema = z.array(
  z
    .strictObject({
      device: z
        .string()
        .regex(/^\/[A-Za-z0-9/._:+-]+$/, {
          error: 'must be an absolute path of letters, digits and / . _ : + -',
        }),
      method: z.enum(eraseMethods),
      command: command.optional(),
    })
    .refine(({ method, command: words }) => (method === 'command') === (words !== undefined), {
      error: 'must have a command if and only if its method is command',
    }),
);

export interface RealMachine {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  /** User, and credentials as references. */
  readonly sshAuth: JsonObject;
  readonly hostKeys: readonly string[];
  readonly flavor: string | undefined;
  readonly mac: string | undefined;
  readonly disk: string | undefined;
  readonly bmc: JsonObject;
  /** The machine's inventory: references in `bmc` are not resolved yet. */
  readonly inventory?: string;
}

/**
 * The machines of the account and of its inventory.
 * @throws PluginError Invalid naming every fault; values are not quoted, because they may be secret.
 */
export async function readMachines(
  fields: RealMachineFields,
  provider: string,
  log: InventoryOptions['log'],
): Promise<readonly RealMachine[]> {
  const { inventory: file, groups } = fields;
  const machines = [
    ...(file === undefined || fields.machines !== undefined ? configuredMachines(fields, provider) : []),
    ...(file === undefined ? [] : await inventoryMachines({ file, groups, log })),
  ];
  requireUniqueNames(machines, provider);
  requireUniqueMacs(machines, provider);
  return machines;
}

function requireUniqueMacs(machines: readonly HasMac[], provider: string): void {
  const [doubled] = doubledMacs(machines);
  if (doubled === undefined) return;
  const { mac: address, name, first } = doubled;
  throw new PluginError(
    'Invalid',
    `provider ${provider} has the mac ${address} for both ${first} and ${name}`,
  );
}

interface HasMac {
  readonly name: string;
  readonly mac?: string | undefined;
}

/** Machines with the mac of an earlier one: an image for one of them could be written to the other. */
function doubledMacs(
  machines: readonly HasMac[],
): readonly (HasMac & { readonly index: number; readonly first: string })[] {
  return machines.flatMap(({ name, mac: address }, index) => {
    const first = machines.find((other) => address !== undefined && other.mac === address)?.name ?? name;
    return first === name ? [] : [{ name, mac: address, index, first }];
  });
}

function configuredMachines(fields: RealMachineFields, provider: string): readonly RealMachine[] {
  const machines = parseFields(machinesSchema, fields.machines, `machines of provider ${provider}`);
  const controllers = parseFields(
    controllersSchema,
    fields.controllers,
    `controllers of provider ${provider}`,
  );
  const without = machines.filter(({ name }) => controllers[name] === undefined).map(({ name }) => name);
  if (without.length > 0)
    throw new PluginError(
      'Invalid',
      `provider ${provider} in heddle.yaml lacks controllers for ${without.join(', ')}`,
    );
  return machines.map((machine) => toRealMachine(machine, controllers[machine.name] as JsonObject));
}

async function inventoryMachines(options: InventoryOptions): Promise<readonly RealMachine[]> {
  const { file } = options;
  const machines = checkEntries(inventoryMachineSchema, await readInventory(options), file);
  return machines.map(({ controller, keyFile, key, ...machine }) => {
    const usedKey = key ?? (keyFile === undefined ? undefined : { secret: `file:${keyFile}` });
    return { ...toRealMachine({ ...machine, key: usedKey }, controller as JsonObject), inventory: file };
  });
}

function toRealMachine(
  { hostKey, user, password, key, ...machine }: z.output<typeof machineSchema>,
  bmc: JsonObject,
): RealMachine {
  return {
    name: machine.name,
    address: machine.address,
    port: machine.port,
    flavor: machine.flavor,
    mac: machine.mac,
    disk: machine.disk,
    bmc,
    hostKeys: [hostKey ?? []].flat(),
    sshAuth: {
      user,
      ...(password === undefined ? {} : { password: password as Json }),
      ...(key === undefined ? {} : { key: key as Json }),
    },
  };
}

/** The disks to erase after each user; `{device}` in a command is the disk's path. */
export function readErase({ erase }: RealMachineFields, provider: string): readonly DiskToErase[] {
  const disks = parseFields(eraseSchema, erase, `erase of provider ${provider}`);
  return disks.map(({ device, method, command: words }) => ({
    device,
    method,
    ...(words === undefined ? {} : { command: fillWords(words, { device }) }),
  }));
}

/**
 * What is wrong with an account; the machines of its inventory are checked when it is read.
 * @param controllerSchema an entry of `controllers`, with resolved secrets.
 */
export function accountFaults(
  { machines, controllers = {}, erase = [], imaging = {}, imager = {} }: Partial<RealMachineFields>,
  controllerSchema: z.ZodType,
): readonly FieldFault[] {
  const wrongMachines = machines === undefined ? [] : faultsOfNamed(machinesSchema, 'machines', machines);
  const named = machines === undefined || wrongMachines.length > 0 ? [] : machinesSchema.parse(machines);
  return [
    ...wrongMachines,
    ...doubledMacs(named).map(({ index, mac: address, first }) => ({
      path: ['machines', index, 'mac'],
      wrong: `${address} is also the mac of ${first}`,
    })),
    ...faultsOf(z.record(z.string(), controllerSchema), 'controllers', controllers),
    ...named
      .filter(({ name }) => !Object.hasOwn(controllers, name))
      .map(({ name }) => ({ path: ['controllers', name], wrong: 'is missing' })),
    ...faultsOf(eraseSchema, 'erase', erase),
    ...imagingFaults(imaging),
    ...(usesImaging(imaging) && imager['load'] !== undefined
      ? [{ path: ['imager', 'load'], wrong: 'cannot be set together with imaging' }]
      : []),
  ];
}
