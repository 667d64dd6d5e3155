import { z } from 'zod';
import type { Json, JsonObject } from '../../model/json.js';
import { PluginError } from '../errors.js';
import { isHostKey } from '../known-hosts.js';

const text = z.string().min(1);
const secret = z.union([text, z.strictObject({ secret: text })]);
const port = z.int().min(1).max(65_535);
const hostKey = text.refine(isHostKey, { error: 'is no host key: "<type> <base64>", as in known_hosts' });
const command = z.array(z.string()).min(1);

/** Fields of every real machine, whatever protocol its controller speaks. */
const machineSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, { error: 'letters, digits, dots, underscores and hyphens' }),
  /** Of its system. */
  address: z.string().regex(/^[A-Za-z0-9:][A-Za-z0-9.:_-]*$/, { error: 'an IP address or a host name' }),
  port: port.default(22),
  user: text.default('root'),
  password: secret.optional(),
  key: secret.optional(),
  hostKey: z.union([hostKey, z.array(hostKey).min(1)]).optional(),
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
  const doubled = machines.flatMap(({ name }, index) =>
    machines.findIndex((other) => other.name === name) < index ? [name] : [],
  );
  if (doubled.length > 0)
    throw new PluginError('Invalid', `provider ${provider} in heddle.yaml has ${doubled.join(', ')} twice`);
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

/** @throws PluginError Invalid, without a value. */
export function parseFields<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'Invalid',
    `${what} in heddle.yaml: ${parsed.error.issues.map(({ path, message }) => `${path.map(String).join('.') || 'the whole'}: ${message}`).join('; ')}`,
  );
}
