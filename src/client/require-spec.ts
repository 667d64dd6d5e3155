import type { ClusterSpec } from '../model/cluster/spec.js';
import { isJsonObject } from '../model/json.js';
import { parseSpec } from '../schema/cluster/read.js';
import { formatProblem } from '../schema/problem.js';
import { HeddleError } from './errors.js';

/** Types do not protect here: a spec may come from JavaScript or JSON. PLAN checks the rest of it. */
export function requireSpec(spec: unknown): asserts spec is ClusterSpec {
  const isSpec =
    isJsonObject(spec) &&
    typeof spec['name'] === 'string' &&
    isJsonObject(spec['nodes']) &&
    Object.values(spec['nodes']).every(
      (group) => isJsonObject(group) && typeof group['count'] === 'number',
    ) &&
    isJsonObject(spec['services']);
  if (isSpec) return;
  const reading = parseSpec(spec);
  const why = reading.ok
    ? 'it is not normalised: pass what parseSpec returns'
    : reading.problems.map(formatProblem).join('; ');
  throw new HeddleError('Invalid', `this is not the spec of a cluster: ${why}`);
}
