import {
  allHandlersFinished,
  condition,
  continueAsNew,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { releaseTurnUpdate, takeTurnUpdate } from './messages.js';
import { noCheck } from './no-check.js';

/** Who may call now, and until when without saying so again, in ms since the epoch. */
export interface TurnState {
  readonly holder: string;
  readonly until: number;
}

/**
 * Whose turn it is to call a provider whose client bears one call at a time. One such workflow for an
 * account. First come, first served; whoever does not renew in time has died, and the next one follows.
 */
export async function turn(carried?: TurnState): Promise<never> {
  let held = carried;
  const waiting: string[] = [];
  const isFull = (): boolean => workflowInfo().continueAsNewSuggested;
  setHandler(
    takeTurnUpdate,
    async ({ holder, leaseMs, waitMs }) => {
      const isFree = held === undefined ? waiting.length === 0 : held.holder === holder;
      if (!isFree && waitMs > 0) {
        if (!waiting.includes(holder)) waiting.push(holder);
        // A run that ends sends everybody back, who then asks the next one.
        await condition(() => (held === undefined && waiting[0] === holder) || isFull(), waitMs);
        waiting.splice(waiting.indexOf(holder), 1);
      }
      if (held !== undefined && held.holder !== holder) return false;
      held = { holder, until: Date.now() + leaseMs };
      return true;
    },
    { validator: noCheck, description: 'Wait for the turn to call, or renew it; false: ask again.' },
  );
  setHandler(
    releaseTurnUpdate,
    (holder) => {
      if (held?.holder === holder) held = undefined;
    },
    { validator: noCheck, description: 'End a turn.' },
  );
  for (;;) {
    await condition(() => held !== undefined || (isFull() && allHandlersFinished()));
    if (isFull() && allHandlersFinished()) return continueAsNew<typeof turn>(held);
    const before = held;
    const changed = await condition(
      () => held !== before || (isFull() && allHandlersFinished()),
      Math.max(1, (before?.until ?? 0) - Date.now()),
    );
    if (!changed && held === before) held = undefined;
  }
}
