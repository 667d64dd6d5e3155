import type { PoolFailure } from '../../schema/output/pool.js';
import type { PoolNode } from './node.js';

/** What a pool keeps of them, the newest first. */
interface Remembering {
  recentFailures?: readonly PoolFailure[];
}

const rememberedMs = 24 * 3_600_000;
/** Together less than a tenth of what a run may carry. */
const mostRemembered = 200;
const longestWhy = 300;

/** Notes a failure for `heddle pool failures`. */
export function rememberFailure(
  pool: Remembering,
  { id, label, providerPool }: PoolNode,
  failure: Pick<PoolFailure, 'stage' | 'kind' | 'why'>,
  now: number,
): void {
  const why = failure.why.slice(0, longestWhy);
  const same = (other: PoolFailure): boolean =>
    other.stage === failure.stage &&
    other.kind === failure.kind &&
    // Most reasons name the node.
    other.why.replaceAll(other.node, '') === why.replaceAll(id, '') &&
    other.label === label &&
    other.providerPool === providerPool;
  const recent = failuresOfLastDay(pool, now);
  const before = recent.find(same);
  const noted: PoolFailure = {
    ...failure,
    why,
    label,
    providerPool,
    node: id,
    times: (before?.times ?? 0) + 1,
    firstAt: before?.firstAt ?? now,
    at: now,
  };
  pool.recentFailures = [noted, ...recent.filter((other) => other !== before)].slice(0, mostRemembered);
}

/** The newest first. */
export function failuresOfLastDay({ recentFailures = [] }: Remembering, now: number): readonly PoolFailure[] {
  return recentFailures.filter(({ at }) => now - at < rememberedMs);
}
