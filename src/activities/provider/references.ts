import type { JsonObject } from '../../model/json.js';
import type { ActivityParts } from '../parts.js';
import { PluginError } from '../../plugins/errors.js';
import { loginReferences } from '../../plugins/login-references.js';
import { foreignReferences } from '../../schema/references.js';

/** The references that may stand in the login of an account's nodes, by the heddle.yaml of this worker. */
export function referencesOf(
  { providers, registry }: Pick<ActivityParts, 'providers' | 'registry'>,
  account: string,
): Promise<ReadonlySet<string>> {
  const plugins = registry.providers();
  return loginReferences(
    providers,
    account,
    (type) => plugins.find(({ descriptor }) => descriptor.name === type)?.descriptor,
  );
}

/** @throws PluginError Invalid if a value has a reference that heddle.yaml does not have there. It is not quoted. */
export function refuseForeign(value: JsonObject, own: ReadonlySet<string>, place: string): void {
  if (foreignReferences(value, own).length > 0)
    throw new PluginError(
      'Invalid',
      `${place} holds a secret reference that is neither in the account's fields in heddle.yaml nor in its inventory, so it is not resolved: ` +
        'write it there again, or replace the node',
    );
}
