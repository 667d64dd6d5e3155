import { z } from 'zod';
import type { Json, JsonObject } from '../../model/json.js';
import { PluginError } from '../errors.js';
import {
  address,
  hostKeys,
  nameOfLength,
  parseFields,
  port,
  requireUniqueNames,
  secret,
  text,
} from '../provider-base/fields.js';

const command = z.array(z.string()).min(1);

/** Fields of every real machine, whatever protocol its controller speaks. */
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
});

/**
 * The controllers by machine name; their entries depend on the provider type. Their secrets are resolved,
 * those of machines are passed on.
 */
const controllersSchema = z.record(z.string(), z.record(z.string(), z.json()));

/**
 * Programs on the workers of the site that know where images are: with 0 it is done or so, with 1 it is not,
 * any other answer is unknown.
 */
const imagerSchema = z.strictObject({
  exists: command.optional(),
  size: command.optional(),
  load: command.optional(),
  capture: command.optional(),
  retrieve: command.optional(),
});
export type Imager = z.output<typeof imagerSchema>;

export interface RealMachine {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  /** User, and credentials as references. */
  readonly sshAuth: JsonObject;
  readonly hostKeys: readonly string[];
  readonly flavor: string | undefined;
  readonly bmc: JsonObject;
}

/**
 * @throws PluginError Invalid that names every wrong place; values are not quoted, for they may be secret.
 */
export function readMachines(fields: JsonObject, provider: string): readonly RealMachine[] {
  const machines = parseFields(
    z.array(machineSchema).min(1),
    fields['machines'],
    `machines of provider ${provider}`,
  );
  requireUniqueNames(machines, provider);
  const controllers = parseFields(
    controllersSchema,
    fields['controllers'],
    `controllers of provider ${provider}`,
  );
  const without = machines.filter(({ name }) => controllers[name] === undefined).map(({ name }) => name);
  if (without.length > 0)
    throw new PluginError(
      'Invalid',
      `provider ${provider} in heddle.yaml has no controller for ${without.join(', ')}`,
    );
  return machines.map(({ hostKey: keys, user, password, key, ...machine }) => ({
    name: machine.name,
    address: machine.address,
    port: machine.port,
    flavor: machine.flavor,
    bmc: controllers[machine.name] as JsonObject,
    hostKeys: [keys ?? []].flat(),
    sshAuth: {
      user,
      ...(password === undefined ? {} : { password: password as Json }),
      ...(key === undefined ? {} : { key: key as Json }),
    },
  }));
}

export function readImager(fields: JsonObject, provider: string): Imager {
  return parseFields(imagerSchema, fields['imager'] ?? {}, `imager of provider ${provider}`);
}
