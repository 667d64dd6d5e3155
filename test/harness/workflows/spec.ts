import type { ClusterSpec } from '../../../src/model/cluster/spec.js';
import { parseSpec } from '../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../src/schema/problem.js';

/** A group of directory machines as people write it. */
export function nodes(count: number, services: readonly string[], more: object = {}): object {
  return { count, provider: 'local', hardware: 'small', image: 'host', services, ...more };
}

/** Closes a spec as the client does; a spec that is wrong fails the test. */
export function closed(written: object): ClusterSpec {
  const parsed = parseSpec(written);
  if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
  return parsed.spec;
}
