import { fileURLToPath } from 'node:url';
import type { FieldFault } from '../../../src/model/field-fault.js';
import type { JsonObject } from '../../../src/model/json.js';
import { PluginError } from '../../../src/plugins/errors.js';
import { findPlugins } from '../../../src/plugins/find-plugins.js';
import { checkResolved, checkFields } from '../../../src/schema/fields.js';
import { formatProblem } from '../../../src/schema/problem.js';
import type { Descriptor } from '../../../src/schema/descriptor.js';

const root = fileURLToPath(new URL('../../../src/plugins/', import.meta.url));
let descriptors: readonly Descriptor[] | undefined;

/** The descriptor of a built-in provider, without rules of its class. */
export function providerDescriptor(name: string): Descriptor {
  descriptors ??= findPlugins([root], root).found.map(({ descriptor }) => descriptor);
  const descriptor = descriptors.find((one) => one.type === 'provider' && one.name === name);
  if (descriptor === undefined) throw new Error(`there is no provider ${name}`);
  return descriptor;
}

/**
 * Fields of a built-in provider as the engine gives them to it: checked, with defaults. The values
 * may be of the administrator and of the user. @throws PluginError Invalid with all problems
 */
export function fieldsOf<Fields>(
  name: string,
  given: JsonObject,
  rules?: (fields: Partial<Fields>) => readonly FieldFault[],
): Fields {
  const descriptor = { ...providerDescriptor(name), rules: rules as Descriptor['rules'] };
  const split = (isUsers: boolean): JsonObject =>
    Object.fromEntries(
      Object.entries(given).filter(([key]) => Object.hasOwn(descriptor.fields?.user ?? {}, key) === isUsers),
    );
  const [admin, user] = [
    checkFields(descriptor, 'admin', split(false), []),
    checkFields(descriptor, 'user', split(true), []),
  ];
  const values = { ...admin.values, ...user.values };
  const wrong = [...admin.problems, ...user.problems];
  const problems = wrong.length > 0 ? wrong : checkResolved(descriptor, ['admin', 'user'], values, []);
  if (problems.length > 0) throw new PluginError('Invalid', problems.map(formatProblem).join('; '));
  return values as Fields;
}
