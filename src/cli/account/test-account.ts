import type { Config } from '../../config/index.js';
import type { JsonObject } from '../../model/json.js';
import { tagNames } from '../../model/names.js';
import type { ProviderAccount } from '../../model/provider-account.js';
import { isPluginError } from '../../plugins/errors.js';
import { callInTime } from '../../plugins/provider-call.js';
import { loadRegistry, type RegisteredProvider } from '../../plugins/registry.js';
import { createRedactor } from '../../secrets/redact.js';
import { contextOf, openFields } from '../provider-call.js';
import { testMachines } from './test-machines.js';
import type { Workspace } from './workspace.js';

export interface AccountTest {
  readonly works: boolean;
  /** What was found, without secrets. */
  readonly says: string;
}

/**
 * Tries every machine of an account of existing machines; else asks the provider for its
 * machines, or for its quota where it has no list. Runs on this computer, with secrets as its
 * workers resolve them; changes nothing at the provider.
 */
export async function testAccount({ config }: Pick<Workspace, 'config'>, name: string): Promise<AccountTest> {
  const account = config.providers[name];
  if (account === undefined) return { works: false, says: `account ${name} does not exist` };
  if (account.site !== config.site)
    return {
      works: false,
      says: `Only workers of site ${account.site} reach this provider, and this computer belongs to site ${config.site}. Run the test at site ${account.site}.`,
    };
  const { plugins: folders, programs, environment } = config;
  const registry = await loadRegistry({ folders, programs, log: { info: () => undefined } });
  let redact = (text: string): string => text;
  try {
    const plugin = registry.provider(account.type);
    const { fields, secrets } = await openFields(plugin, account, environment);
    redact = (text) => createRedactor(secrets).redact(text);
    const answer = await ask(plugin, name, { fields, config, account });
    return { ...answer, says: redact(answer.says) };
  } catch (error) {
    const kind = isPluginError(error) ? `${error.kind}: ` : '';
    return { works: false, says: redact(`${kind}${error instanceof Error ? error.message : String(error)}`) };
  } finally {
    await registry.close();
  }
}

async function ask(
  plugin: RegisteredProvider,
  name: string,
  {
    fields,
    config,
    account,
  }: { readonly fields: JsonObject; readonly config: Config; readonly account: ProviderAccount },
): Promise<AccountTest> {
  const has = (ability: string): boolean => plugin.abilities.includes(ability);
  if (has('machineNames')) {
    const context = contextOf(plugin, { name, fields });
    const names = await callInTime(plugin, context, async (provider) => provider.machineNames?.());
    return testMachines({ config, plugin, account, name, fields }, names ?? []);
  }
  return callInTime(plugin, contextOf(plugin, { name, fields }), async (provider) => {
    if (has('list')) {
      await provider.list?.({ [tagNames.installation]: 'account-test' });
      return { works: true, says: 'The provider accepted the account and listed its machines.' };
    }
    if (has('quota')) {
      await provider.quota?.({ flavors: [] });
      return { works: true, says: 'The provider accepted the account and returned its quota.' };
    }
    return {
      works: true,
      says: `The fields are valid and the secrets can be read. Provider type ${plugin.descriptor.name} has no call that can be tested without creating a machine.`,
    };
  });
}
