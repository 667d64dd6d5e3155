import { isJsonObject, type JsonObject } from '../../model/json.js';
import type { AccountRef } from '../../model/look.js';
import { PluginError } from '../../plugins/errors.js';
import type { RegisteredProvider } from '../../plugins/registry.js';
import { checkEndpoints, checkFields, passedReferences } from '../../schema/fields.js';
import { formatProblem, hasErrors } from '../../schema/problem.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import type { ProviderAccount } from '../../model/provider-account.js';

/** A provider account, ready to be asked. */
export interface OpenAccount {
  readonly name: string;
  readonly plugin: RegisteredProvider;
  /** The administrator's fields with the user's over them, checked, with defaults and with secrets resolved. */
  readonly fields: JsonObject;
}

/** Without `fields` no user stands behind it: whatever only a user can fill in is left out. */
export interface AccountName extends Pick<AccountRef, 'name'> {
  readonly fields?: AccountRef['fields'];
  /** `any`: what the account allows users is not checked. For DELETE: what was made must go after the administrator allows less. */
  readonly allow?: 'any';
}

/** @throws PluginError Invalid (no such account or plugin, wrong fields), Auth (a secret cannot be had). */
export async function openAccount(parts: ActivityParts, { name, fields, allow }: AccountName, attempt: Pick<Attempt, 'hide'>): Promise<OpenAccount> {
  const account = accountOf(parts, name);
  const plugin = parts.registry.provider(account.type);
  const { descriptor } = plugin;
  const admin = checkFields(descriptor, 'admin', account.fields, ['providers', name, 'fields']);
  const user = checkFields(descriptor, 'user', fields ?? {}, ['fields'], allow === 'any' ? allow : account.allow);
  const problems = [...admin.problems, ...(fields === undefined ? [] : user.problems)];
  if (hasErrors(problems)) throw new PluginError('Invalid', `fields of provider ${name}: ${problems.map(formatProblem).join('; ')}`);
  // Without declarations nothing says which of the administrator's fields a user may set: none.
  const written: JsonObject = descriptor.fields === undefined ? { ...user.values, ...admin.values } : { ...admin.values, ...user.values };
  const passed = passedReferences(descriptor);
  const split = (kept: boolean): JsonObject => Object.fromEntries(Object.entries(written).filter(([key]) => passed.includes(key) === kept));
  const { value, secrets } = await parts.resolveSecrets(split(false), `provider ${name}`);
  attempt.hide(secrets);
  const resolved: JsonObject = { ...(isJsonObject(value) ? value : {}), ...split(true) };
  // Only now is an address known that a reference stood for.
  const unprotected = checkEndpoints(descriptor, resolved, ['providers', name, 'fields']);
  if (unprotected.length > 0) throw new PluginError('Invalid', unprotected.map(formatProblem).join('; '));
  return { name, plugin, fields: resolved };
}

function accountOf(parts: ActivityParts, name: string): ProviderAccount {
  const account = parts.providers[name];
  if (account !== undefined) return account;
  const known = Object.keys(parts.providers).join(', ');
  throw new PluginError('Invalid', `this worker's configuration has no provider "${name}" (it has: ${known || 'none'}); add it to heddle.yaml`);
}
