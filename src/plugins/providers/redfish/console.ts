import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { PluginError, type ConsoleCommand } from '../../contract.js';
import { ipmiSchema, ipmitool } from '../../bare-metal/index.js';
import { parseFields } from '../../provider-base/fields.js';
import { readResource } from './hardware.js';
import { consoleCommand, type Controller, type RedfishHttp } from './http.js';

/** How a controller offers the serial console of its system. */
export type SerialConsole =
  | { readonly by: 'ssh'; readonly port: number; readonly command?: string }
  | { readonly by: 'ipmi'; readonly port: number };

const flag = z.boolean().nullish().catch(undefined);
const portNumber = z.int().min(1).max(65_535).nullish().catch(undefined);
const protocol = z.object({ ServiceEnabled: flag, Port: portNumber });
const link = z.object({ '@odata.id': z.string() });

const systemSchema = z.object({
  SerialConsole: z
    .object({
      SSH: protocol.extend({ ConsoleEntryCommand: z.string().nullish().catch(undefined) }).nullish(),
      IPMI: protocol.nullish(),
    })
    .nullish()
    .catch(undefined),
  Links: z
    .object({ ManagedBy: z.array(link).nullish() })
    .nullish()
    .catch(undefined),
});
const managerSchema = z.object({
  SerialConsole: z
    .object({ ServiceEnabled: flag, ConnectTypesSupported: z.array(z.string()).nullish() })
    .nullish()
    .catch(undefined),
  NetworkProtocol: link.nullish().catch(undefined),
});
const service = z.object({ ProtocolEnabled: flag, Port: portNumber }).nullish().catch(undefined);
const protocolsSchema = z.object({ SSH: service, IPMI: service });

/**
 * The console by SSH, as newer controllers describe it at their system; by SSH to the shell of
 * the controller, where the administrator names the command that opens it; otherwise by IPMI.
 * @throws PluginError Invalid if the controller offers none.
 */
export async function findConsole(
  http: RedfishHttp,
  path: string,
  { url, consoleCommand: named }: Controller,
): Promise<SerialConsole> {
  const system = await readResource(http, systemSchema, path);
  const { SSH: ssh, IPMI: ipmi } = system?.SerialConsole ?? {};
  const entry = named ?? ssh?.ConsoleEntryCommand ?? undefined;
  if (ssh && ssh.ServiceEnabled !== false)
    return { by: 'ssh', port: ssh.Port ?? 22, ...(entry === undefined ? {} : { command: entry }) };
  const manager = await readLinked(http, managerSchema, system?.Links?.ManagedBy?.[0]);
  const protocols = await readLinked(http, protocolsSchema, manager?.NetworkProtocol);
  const offered = manager?.SerialConsole;
  const types = offered?.ServiceEnabled === false ? [] : (offered?.ConnectTypesSupported ?? []);
  if (named !== undefined && (protocols?.SSH?.ProtocolEnabled ?? types.includes('SSH')))
    return { by: 'ssh', port: protocols?.SSH?.Port ?? 22, command: named };
  const byIpmi = ipmi ? ipmi.ServiceEnabled !== false : types.includes('IPMI');
  if (byIpmi && protocols?.IPMI?.ProtocolEnabled !== false)
    return { by: 'ipmi', port: ipmi?.Port ?? protocols?.IPMI?.Port ?? 623 };
  const remedy = types.includes('SSH')
    ? 'it offers one in its shell: set consoleCommand of the controller in heddle.yaml to the command that opens it'
    : 'it reports none by SSH or IPMI; enable one of them at the controller';
  throw new PluginError('Invalid', `the controller at ${url} offers no console: ${remedy}`);
}

async function readLinked<Schema extends z.ZodType>(
  http: RedfishHttp,
  schema: Schema,
  target: z.output<typeof link> | null | undefined,
): Promise<z.output<Schema> | undefined> {
  return target ? readResource(http, schema, target['@odata.id']) : undefined;
}

export function consoleCommandOf(console: SerialConsole, controller: Controller): ConsoleCommand {
  const { url, user = '', password = '' } = controller;
  const host = new URL(url).hostname.replaceAll(/[[\]]/g, '');
  if (console.by === 'ipmi') {
    const bmc = { host, port: console.port, user, password };
    return ipmitool(parseFields(ipmiSchema, bmc, `controller ${url}`), ['sol', 'activate']);
  }
  const { command, port } = console;
  if (command !== undefined && !consoleCommand.safeParse(command).success)
    throw new PluginError(
      'Invalid',
      `the controller at ${url} reports a console command that is not a single line`,
    );
  const options = [
    'StrictHostKeyChecking=yes',
    'PubkeyAuthentication=no',
    'NumberOfPasswordPrompts=1',
    ...knownHosts(controller),
  ].flatMap((option) => ['-o', option]);
  const target = ['-p', String(port), '-l', user, '--', host];
  return {
    command: ['ssh', '-F', 'none', '-t', ...options, ...target, ...(command === undefined ? [] : [command])],
    environment: {
      SSH_ASKPASS: fileURLToPath(new URL('./askpass.sh', import.meta.url)),
      SSH_ASKPASS_REQUIRE: 'force',
      HEDDLE_CONTROLLER_PASSWORD: password,
    },
  };
}

/** %H is the name under which ssh looks for the key. */
function knownHosts({ hostKey }: Controller): readonly string[] {
  if (hostKey === undefined) return [];
  const lines = [hostKey].flat().map((key) => `%H ${key}`);
  return [
    `KnownHostsCommand=/usr/bin/printf '%%s\\n' ${lines.map((line) => `'${line}'`).join(' ')}`,
    'UserKnownHostsFile=none',
    'GlobalKnownHostsFile=none',
  ];
}
