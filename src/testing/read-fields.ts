import type { JsonObject } from '../model/json.js';
import type { Descriptor, FieldScope } from '../schema/descriptor.js';
import { checkFields } from '../schema/fields.js';
import { formatProblem, hasErrors } from '../schema/problem.js';
import { passedReferences } from '../schema/references.js';
import { resolveFields, type ResolvedFields } from '../secrets/resolve-fields.js';
import type { Surroundings } from './surroundings.js';

/** Checks the fields of a suite, fills in defaults and resolves secrets, as the engine does. */
export async function readFields(
  descriptor: Descriptor,
  written: Readonly<Partial<Record<FieldScope, JsonObject>>>,
  { environment, writer }: Surroundings,
): Promise<ResolvedFields> {
  const scopes = (['admin', 'user'] as const).flatMap((scope) => {
    const values = written[scope];
    return values === undefined ? [] : [checkFields(descriptor, scope, values, [scope])];
  });
  const problems = scopes.flatMap((scope) => scope.problems);
  if (hasErrors(problems))
    throw new Error(`the fields of the suite are wrong: ${problems.map(formatProblem).join('; ')}`);
  const all: JsonObject = Object.assign({}, ...scopes.map(({ values }) => values));
  const { fields, secrets } = await resolveFields(
    all,
    { environment },
    { ...writer, place: 'fields', reader: 'this computer' },
    passedReferences(descriptor),
  );
  const declared = Object.entries({ ...descriptor.fields?.admin, ...descriptor.fields?.user });
  const typed = declared.flatMap(([key, field]) =>
    field.secret === true && typeof all[key] === 'string' ? [all[key]] : [],
  );
  return { fields, secrets: [...secrets, ...typed] };
}
