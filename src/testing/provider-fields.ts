import { isJsonObject, type JsonObject } from '../model/json.js';
import type { RegisteredProvider } from '../plugins/registry.js';
import { checkFields, passedReferences } from '../schema/fields.js';
import { formatProblem, hasErrors } from '../schema/problem.js';
import { resolveSecrets } from '../secrets/reference.js';

/** Fields of an account, as its administrator and a user wrote them. */
export interface WrittenFields {
  readonly admin: JsonObject;
  readonly user: JsonObject;
}

/** As the engine does it: the fields are checked, defaults filled in, secrets resolved. */
export async function readFields(
  { descriptor }: RegisteredProvider,
  written: WrittenFields,
): Promise<{ readonly fields: JsonObject; readonly secrets: readonly string[] }> {
  const admin = checkFields(descriptor, 'admin', written.admin, ['admin']);
  const user = checkFields(descriptor, 'user', written.user, ['user']);
  const problems = [...admin.problems, ...user.problems];
  if (hasErrors(problems))
    throw new Error(`the fields of the suite's account are wrong: ${problems.map(formatProblem).join('; ')}`);
  const all: JsonObject = { ...admin.values, ...user.values };
  const passed = passedReferences(descriptor);
  const split = (kept: boolean): JsonObject =>
    Object.fromEntries(Object.entries(all).filter(([key]) => passed.includes(key) === kept));
  const { value, secrets } = await resolveSecrets(
    split(false),
    { environment: {} },
    { writtenBy: 'administrator', place: 'fields' },
  );
  const declared = Object.entries({ ...descriptor.fields?.admin, ...descriptor.fields?.user });
  const plain = declared.flatMap(([key, field]) =>
    field.secret === true && typeof all[key] === 'string' ? [all[key]] : [],
  );
  return {
    fields: { ...(isJsonObject(value) ? value : {}), ...split(true) },
    secrets: [...secrets, ...plain],
  };
}

export function textAt(fields: JsonObject, key: string): string {
  const value = fields[key];
  if (typeof value === 'string') return value;
  throw new Error(`endpoint names the field ${key}, but the account's admin fields have no text there`);
}
