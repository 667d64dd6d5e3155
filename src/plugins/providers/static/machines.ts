import { z } from 'zod';
import type { Json, JsonObject } from '../../../model/json.js';
import type { PluginLog } from '../../contract.js';
import { PluginError } from '../../errors.js';
import { address, hostKeys, nameOfLength, port, secret, text } from '../../provider-base/fields.js';
import { checkEntries } from '../../inventory/check-entries.js';
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

const command = z.array(text).min(1);
const programsSchema = z.strictObject({ deleted: command.optional(), reused: command.optional() });

const accountSchema = z.object({
  machines: z.array(machineSchema).default([]),
  inventory: text.optional(),
  groups: z.array(text).min(1).optional(),
  slots: z.int().min(1).max(1_000).default(1),
  liveness: z.enum(['ssh', 'none']).default('none'),
  user: text.default('root'),
  port: port.default(22),
  keyFile: text.optional(),
  agent: secret.optional(),
  knownHosts: text.optional(),
  programs: programsSchema.default({}),
});

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
  readonly liveness: 'ssh' | 'none';
  /** The administrator's programs for notifications. */
  readonly programs: z.output<typeof programsSchema>;
}

/**
 * Reads the account's fields, and the inventory that they name.
 * @throws PluginError Invalid that names every wrong place; values are not quoted, for they may be secret.
 */
export async function readAccount(
  fields: JsonObject,
  provider: string,
  log: Pick<PluginLog, 'warn'>,
): Promise<StaticAccount> {
  const refuse = (wrong: readonly string[]): never => {
    throw new PluginError('Invalid', `provider ${provider} in heddle.yaml is invalid: ${wrong.join('; ')}`);
  };
  const parsed = accountSchema.safeParse(fields);
  if (!parsed.success) return refuse(placesOf(parsed.error, ''));
  const account = parsed.data;
  if (account.groups !== undefined && account.inventory === undefined)
    refuse(['groups: has no effect without inventory']);
  const machines = [
    ...account.machines,
    ...(account.inventory === undefined ? [] : await machinesOf(account.inventory, account.groups, log)),
  ];
  const wrong = machines.length === 0 ? ['machines: must not be empty'] : findDuplicates(machines);
  if (wrong.length > 0) refuse(wrong);
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

function placesOf({ issues }: z.ZodError, before: string): readonly string[] {
  return issues.map((issue) => `${before}${issue.path.map(String).join('.')}: ${issue.message}`);
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
function findDuplicates(machines: readonly WrittenMachine[]): readonly string[] {
  const names = new Set<string>();
  const places = new Map<string, string>();
  return machines.flatMap(({ name, address, port }, index) => {
    const place = `${address} ${port}`;
    const sameName = names.has(name);
    const samePlace = places.get(place);
    names.add(name);
    places.set(place, samePlace ?? name);
    return [
      ...(sameName ? [`machines.${index}.name: ${name} is duplicated`] : []),
      ...(samePlace === undefined
        ? []
        : [`machines.${index}.address: ${name} is the same machine as ${samePlace}`]),
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
  const name = slot.replace(/#\d+$/, '');
  return machines.find((machine) => machine.name === name);
}
