import type { Config } from '../../config/index.js';
import { isJsonObject, type JsonObject } from '../../model/json.js';
import { poolAccount } from '../../model/names.js';
import { referencesIn } from '../../model/node/result-table.js';
import { resolveSecrets } from '../../secrets/reference.js';
import { CliError } from '../cli-error.js';

type LoginConfig = Pick<Config, 'environment' | 'providers' | 'pluginFolders' | 'programs'>;

interface KnownLogin {
  readonly node: string;
  /** Name of the node's provider account. */
  readonly account: string;
  readonly auth: JsonObject;
}

/**
 * A login as it is, unless it holds secret references: those are resolved only where the account's plugin
 * passes its administrator's on. Any other reference came from a node or a plugin, and would be carried out
 * on this computer.
 */
export async function resolveLogin(
  config: LoginConfig,
  { node, account, auth }: KnownLogin,
): Promise<JsonObject> {
  const { environment, providers, pluginFolders, programs } = config;
  if (referencesIn(auth).length === 0) return auth;
  const [{ loadRegistry }, { passesReferences }] = await Promise.all([
    import('../../plugins/registry.js'),
    import('../../schema/fields.js'),
  ]);
  const registry = await loadRegistry({ folders: pluginFolders, programs, log: { info: () => undefined } });
  try {
    // Every worker has the account of pools without its being written down.
    const type = providers[account]?.type ?? (account === poolAccount ? poolAccount : undefined);
    if (type === undefined || !passesReferences(registry.provider(type).descriptor)) {
      throw new CliError(
        'Refused',
        `ssh-auth of ${node} holds a secret reference, and provider ${account} passes none on: ` +
          'it is not resolved',
      );
    }
  } finally {
    await registry.close();
  }
  const { value } = await resolveSecrets(
    auth,
    { environment },
    { writtenBy: 'administrator', place: `ssh-auth of ${node}` },
  );
  return isJsonObject(value) ? value : {};
}
