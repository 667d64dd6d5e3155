import type { JsonObject } from '../../model/json.js';
import { possibleReferences } from '../../model/secret-reference.js';
import { PluginError } from '../../plugins/errors.js';
import { loginReferences } from '../../plugins/login-references.js';
import { acceptResult, type ResultOf } from '../../schema/accept-result.js';
import { foreignReferences, type OwnReferences } from '../../schema/references.js';
import { parseResult } from '../../schema/result.js';
import type { ActivityParts } from '../parts.js';

type Parts = Pick<ActivityParts, 'providers' | 'registry'>;

/**
 * Accepts what a provider returned, with the references that the account has at this moment in
 * heddle.yaml and its inventory. @throws PluginError as `acceptResult` does, Retryable if the
 * inventory may be being written.
 */
export async function acceptFromProvider(
  parts: Parts,
  account: string,
  returned: unknown,
  result: Omit<ResultOf, 'references'>,
): Promise<ReturnType<typeof acceptResult>> {
  const { result: value = {} } = parseResult(returned, { plugin: result.plugin.name });
  return acceptResult(returned, { ...result, references: await ownReferences(parts, account, value) });
}

/**
 * Returns the references of the account. @throws PluginError Invalid if a value has a reference that
 * heddle.yaml does not have there. It is not quoted. The fault of the inventory if it may have the reference.
 */
export async function refuseForeign(
  parts: Parts,
  account: string,
  value: JsonObject,
  place: string,
): Promise<OwnReferences> {
  const own = await ownReferences(parts, account, value);
  if (foreignReferences(value, own).length === 0) return own;
  throw (
    own.incomplete ??
    new PluginError(
      'Invalid',
      `${place} holds a secret reference that is neither in the account's fields in heddle.yaml nor in its inventory, so it is not resolved: ` +
        'write it there again, or replace the node',
    )
  );
}

/** By the heddle.yaml of this worker. Inventories are read only for a value that holds references. */
async function ownReferences(
  { providers, registry }: Parts,
  account: string,
  value: JsonObject,
): Promise<OwnReferences> {
  if (possibleReferences(value).length === 0) return { references: new Map() };
  return loginReferences(providers, account, registry.providers());
}
