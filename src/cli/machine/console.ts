import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ConsoleCommand, PluginContext } from '../../plugins/contract.js';
import { callInTime } from '../../plugins/provider-call.js';
import { childEnvironment } from '../../config/child-environment.js';
import { loadRegistry } from '../../plugins/registry.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { contextOf, openFields, resolveOwnFields } from '../provider-call.js';
import { type Session, withSession } from '../session.js';

/**
 * Connects this terminal to the serial console of a machine. It runs on a host of the machine's
 * site whose heddle.yaml has the account: the credentials of the controller are resolved here,
 * and never sent anywhere else. Returns the exit code of the program.
 */
export async function openConsole(name: string, options: ServerOptions): Promise<number> {
  const { command, environment = {} } = await withSession(options, (session) => commandFor(session, name));
  const [program = '', ...words] = command;
  const child = spawn(program, words, {
    stdio: 'inherit',
    env: childEnvironment({ pass: ['TERM'], set: environment }),
  });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code ?? 1;
  } catch (cause) {
    throw new CliError('Failed', `${program} could not be started: ${String(cause)}`, { cause });
  }
}

async function commandFor({ client, config }: Session, name: string): Promise<ConsoleCommand> {
  const { provider: account, providerid, site = config.site } = await client.machines.show(name);
  const written = config.providers[account];
  if (written === undefined || site !== config.site)
    throw new CliError(
      'Invalid',
      `a console is opened on a worker host of site ${site}, whose heddle.yaml has the account ${account}`,
    );
  if (providerid === undefined)
    throw new CliError('Invalid', `machine ${name} is not completely registered`, {
      next: `heddle machine show ${name}`,
    });
  const { plugins: folders, programs, environment } = config;
  const registry = await loadRegistry({ folders, programs, log: { info: () => undefined } });
  try {
    const plugin = registry.provider(written.type);
    if (!plugin.abilities.includes('console'))
      throw new CliError('Invalid', `provider type ${written.type} does not support consoles`);
    const { fields } = await openFields(plugin, written, environment);
    const context: PluginContext = {
      ...contextOf(plugin, { name: account, fields, machine: providerid }),
      resolveReferences: async (value, place) => (await resolveOwnFields(environment, value, place)).fields,
    };
    return await callInTime(plugin, context, async (provider) => {
      const found = await provider.console?.({ providerid, key: '', tags: {}, fields });
      if (found === undefined) throw new CliError('Invalid', `machine ${name} has no console`);
      return found;
    });
  } finally {
    await registry.close();
  }
}
