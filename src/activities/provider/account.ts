import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import type { AccountRef } from '../../model/node/probe.js';
import { PluginError } from '../../plugins/errors.js';
import type { RegisteredProvider } from '../../plugins/registry.js';
import { checkFieldFiles } from '../../schema/field-files.js';
import { checkFields } from '../../schema/fields.js';
import { passedReferences } from '../../schema/references.js';
import { formatProblem, hasErrors, type Problem } from '../../schema/problem.js';
import type { Attempt } from '../attempt.js';
import { refuseResolved } from '../refuse-resolved.js';
import type { ActivityParts } from '../parts.js';
import type { ProviderAccount } from '../../model/provider-account.js';

/** A provider account, ready to be asked. */
export interface OpenAccount {
  readonly name: string;
  readonly plugin: RegisteredProvider;
  /**
   * The administrator's fields with the user's over them, checked, with defaults and with secrets resolved.
   */
  readonly fields: JsonObject;
  /** The administrator's secrets among them, which no result may contain. */
  readonly secrets: readonly string[];
}

/** Without `fields` there is no user: user fields are left out. */
export interface AccountName extends Pick<AccountRef, 'name'> {
  readonly fields?: AccountRef['fields'];
  /**
   * What was made must go, even after the administrator allows less: values that the account does not list
   * are accepted, and fields with a reference that `secrets.allow` forbids are left out.
   */
  readonly forDelete?: boolean;
}

/**
 * @throws PluginError Invalid (no such account or plugin, wrong fields), Auth (a secret is not available).
 */
export async function openAccount(
  parts: ActivityParts,
  { name, fields, forDelete = false }: AccountName,
  attempt: Pick<Attempt, 'hide'>,
): Promise<OpenAccount> {
  const account = accountOf(parts, name);
  const plugin = parts.registry.provider(account.type);
  const { descriptor } = plugin;
  const admin = checkFields(descriptor, 'admin', account.fields, ['providers', name, 'fields']);
  const user = checkFields(descriptor, 'user', fields ?? {}, ['fields'], forDelete ? 'any' : account.allow);
  const refuse = (problems: readonly Problem[]): void => {
    if (hasErrors(problems))
      throw new PluginError(
        'Invalid',
        `fields of provider ${name}: ${problems.map(formatProblem).join('; ')}`,
      );
  };
  refuse([...admin.problems, ...(fields === undefined ? [] : user.problems)]);
  // Without declarations nothing says which of the administrator's fields a user may set: none.
  const isKept = (key: string): boolean =>
    descriptor.fields === undefined && Object.hasOwn(admin.values, key);
  const isForbidden = (value: Json): boolean => forDelete && parts.forbiddenReferences(value).length > 0;
  const usersOwn = withoutKeys(user.values, (key, value) => isKept(key) || isForbidden(value));
  const administrators = withoutKeys(admin.values, (key) => Object.hasOwn(usersOwn, key));
  const passed = passedReferences(descriptor);
  const resolve = async (
    values: JsonObject,
    writtenBy: 'administrator' | 'user',
  ): Promise<Pick<OpenAccount, 'fields' | 'secrets'>> => {
    const { value, secrets } = await parts.resolveSecrets(values, {
      writtenBy,
      place: `fields of provider ${name}`,
    });
    attempt.hide(secrets);
    return { fields: isJsonObject(value) ? value : {}, secrets };
  };
  const resolved = await resolve(
    withoutKeys(administrators, (key) => passed.includes(key)),
    'administrator',
  );
  const own = { ...resolved.fields, ...withoutKeys(administrators, (key) => !passed.includes(key)) };
  // References may name files too.
  refuse(checkFieldFiles(descriptor, own, ['providers', name, 'fields']));
  // A user's reference is never passed on: it would be indistinguishable from an administrator's.
  const all: JsonObject = { ...own, ...(await resolve(usersOwn, 'user')).fields };
  refuseResolved(descriptor, ['admin', 'user'], all, ['providers', name, 'fields']);
  return { name, plugin, fields: all, secrets: resolved.secrets };
}

function withoutKeys(values: JsonObject, isLeftOut: (key: string, value: Json) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([key, value]) => !isLeftOut(key, value)));
}

function accountOf(parts: ActivityParts, name: string): ProviderAccount {
  const account = parts.providers[name];
  if (account !== undefined) return account;
  const known = Object.keys(parts.providers).join(', ');
  throw new PluginError(
    'Invalid',
    `this worker's configuration has no provider "${name}" (it has: ${known || 'none'}); add it to heddle.yaml`,
  );
}
