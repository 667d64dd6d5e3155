import type { ClusterSpec } from '../../model/cluster/spec.js';
import { isValidReference } from '../../schema/references.js';
import type { VariableDeclaration } from '../../schema/cluster/variable.js';

/**
 * A spec without the values of its secret variables. References, such as {secret: "env:NAME"}, are no
 * secrets: they become defaults, as in a file. `declared` has what the file says of the variables.
 */
export function withoutSecretValues(
  { variables, ...spec }: ClusterSpec,
  declared: Readonly<Record<string, VariableDeclaration>> = {},
): ClusterSpec {
  if (variables === undefined) return spec;
  const shown = Object.entries(variables).map(([name, variable]) => {
    if (!('value' in variable) || variable.secret !== true) return [name, variable] as const;
    const { value, ...declaration } = variable;
    return [
      name,
      {
        ...(Object.hasOwn(declared, name) ? declared[name] : {}),
        ...declaration,
        ...(isValidReference(value) ? { default: value } : {}),
      },
    ] as const;
  });
  return { ...spec, variables: Object.fromEntries(shown) as ClusterSpec['variables'] };
}
