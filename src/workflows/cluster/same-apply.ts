import { allowTheSame } from '../../model/cluster/consent.js';
import type { ApplyRequest } from '../../model/cluster/contract.js';
import type { QueuedOperation } from '../../model/cluster/state.js';
import type { Json } from '../../model/json.js';
import { stableJson } from '../../model/node/payload.js';
import type { Intent } from '../../model/plan/intent/intent.js';
import type { Memory } from './memory.js';

/**
 * The operation that is applying this very spec, so that a repeated request changes nothing. At rest, an
 * apply of the same spec probes and repairs the machines, unless it is create-only.
 */
export function sameAsUnderWay({ state, halt }: Memory, request: ApplyRequest): string | undefined {
  const { spec, createOnly = false } = request;
  const wanted = stableJson(spec as Json);
  const isWanted = (other: unknown): boolean => other !== undefined && stableJson(other as Json) === wanted;
  const { operation, queue } = state;
  if (operation?.kind === 'delete' || queue.some((queued) => queued.operation.kind === 'delete'))
    return undefined;
  const isSame = (entry: QueuedOperation): boolean =>
    isWanted(entry.spec) &&
    hasScope(entry.operation.intent, request) &&
    allowTheSame(entry.consent, request.consent);
  const replacesHeld = operation?.state === 'held' && request.queue !== true;
  // The last one that waits decides what the cluster becomes.
  const queued = replacesHeld ? queue.find(isSame) : queue.findLast((entry) => entry.spec !== undefined);
  if (queued !== undefined) return isSame(queued) ? queued.operation.id : undefined;
  if (operation === undefined && createOnly && isWanted(state.spec))
    return state.history.find(
      ({ kind, state: end, left = 0 }) => kind === 'apply' && end === 'done' && left === 0,
    )?.id;
  // An operation that is being cancelled does not do it.
  if (operation?.kind !== 'apply' || halt !== undefined || !hasScope(operation.intent, request))
    return undefined;
  // Once it is planned, what it does is settled; a saved plan is carried out by its own operation.
  const isAllowed =
    state.planned === true
      ? request.consent?.planDigest === undefined
      : allowTheSame(state.consent, request.consent);
  if (!isAllowed) return undefined;
  return isWanted(state.target ?? state.spec) ? operation.id : undefined;
}

/** A limited apply is another one than that of the whole spec. */
function hasScope(intent: Intent, wanted: Pick<ApplyRequest, 'nodes' | 'services'>): boolean {
  const sorted = (names: readonly string[] | undefined): Json => names?.toSorted() ?? null;
  const own: typeof wanted = intent.kind === 'apply' ? intent : {};
  const scope = ({ nodes, services }: typeof wanted): string => stableJson([sorted(nodes), sorted(services)]);
  return scope(own) === scope(wanted);
}
