import type { JsonObject } from '../model/json.js';
import { PluginError } from '../plugins/errors.js';
import type { Descriptor, FieldScope } from '../schema/descriptor.js';
import { checkResolved } from '../schema/fields.js';
import { formatProblem, type Path } from '../schema/problem.js';

/**
 * Refuses values that became known only when references and expressions were resolved.
 * @throws PluginError Invalid
 */
export function refuseResolved(
  descriptor: Descriptor,
  scopes: readonly FieldScope[],
  values: JsonObject,
  path: Path,
): void {
  const wrong = checkResolved(descriptor, scopes, values, path);
  if (wrong.length > 0) throw new PluginError('Invalid', wrong.map(formatProblem).join('; '));
}
