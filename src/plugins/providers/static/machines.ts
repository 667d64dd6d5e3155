import { z } from 'zod';
import type { Json, JsonObject } from '../../../model/json.js';
import { PluginError } from '../../errors.js';
import { isHostKey } from '../../known-hosts.js';

const text = z.string().min(1);
/** A reference is handed on to the payload as it is, and resolved when the machine is reached. */
const secret = z.union([text, z.strictObject({ secret: text })]);
const port = z.int().min(1).max(65_535);
const hostKey = text.refine(isHostKey, { error: 'is no host key: "<type> <base64>", as in known_hosts' });

const machineSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, { error: 'letters, digits, dots, underscores and hyphens' }),
  address: z.string().regex(/^[A-Za-z0-9:][A-Za-z0-9.:_-]*$/, { error: 'an IP address or a host name' }),
  port: port.optional(),
  user: text.optional(),
  password: secret.optional(),
  key: secret.optional(),
  keyFile: text.optional(),
  agent: secret.optional(),
  hostKey: z.union([hostKey, z.array(hostKey).min(1)]).optional(),
  flavor: text.optional(),
  image: text.optional(),
});

const accountSchema = z.object({
  machines: z.array(machineSchema).min(1),
  user: text.default('root'),
  port: port.default(22),
  keyFile: text.optional(),
  agent: secret.optional(),
  knownHosts: text.optional(),
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
}

export interface StaticAccount {
  readonly machines: readonly StaticMachine[];
  readonly knownHosts: string | undefined;
}

/**
 * Reads the account's fields.
 * @throws PluginError Invalid that names every wrong place; values are not quoted, for they may be secret.
 */
export function readAccount(fields: JsonObject, provider: string): StaticAccount {
  const parsed = accountSchema.safeParse(fields);
  const wrong = parsed.success ? findDuplicates(parsed.data.machines)
    : parsed.error.issues.map((issue) => `${issue.path.map(String).join('.')}: ${issue.message}`);
  if (!parsed.success || wrong.length > 0) throw new PluginError('Invalid', `provider ${provider} in heddle.yaml is wrong: ${wrong.join('; ')}`);
  const account = parsed.data;
  return {
    knownHosts: account.knownHosts,
    machines: account.machines.map((machine) => ({
      name: machine.name,
      address: machine.address,
      port: machine.port ?? account.port,
      sshAuth: { user: machine.user ?? account.user, ...credentials(machine, account) },
      hostKeys: [machine.hostKey ?? []].flat(),
      flavor: machine.flavor,
      image: machine.image,
    })),
  };
}

interface Credentials {
  readonly password?: Json | undefined;
  readonly key?: Json | undefined;
  readonly keyFile?: string | undefined;
  readonly agent?: Json | undefined;
}

/** The machine's own credentials, else the account's; a key file is named, not read: its content stays where it is. */
function credentials(machine: Credentials, account: Credentials): JsonObject {
  const { password, key, keyFile, agent } = [machine, account].find((from) => from.password ?? from.key ?? from.keyFile ?? from.agent) ?? {};
  const usedKey = key ?? (keyFile === undefined ? undefined : { secret: `file:${keyFile}` });
  return {
    ...(password === undefined ? {} : { password }), ...(usedKey === undefined ? {} : { key: usedKey }), ...(agent === undefined ? {} : { agent }),
  };
}

/** One machine under two names would be given away twice. */
function findDuplicates(machines: readonly z.output<typeof machineSchema>[]): readonly string[] {
  return machines.flatMap((machine, index) => {
    const before = machines.slice(0, index);
    const sameName = before.some(({ name }) => name === machine.name);
    const samePlace = before.find(({ address, port: other }) => address === machine.address && other === machine.port);
    return [
      ...(sameName ? [`machines.${index}.name: ${machine.name} is there twice`] : []),
      ...(samePlace === undefined ? [] : [`machines.${index}.address: ${machine.name} is the same machine as ${samePlace.name}`]),
    ];
  });
}
