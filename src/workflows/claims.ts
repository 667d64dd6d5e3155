import {
  allHandlersFinished,
  condition,
  continueAsNew,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { heldClaimsQuery, releaseClaimUpdate, takeClaimUpdate } from './messages.js';
import { noCheck } from './no-check.js';

/** Which key has which machine: machine -> key. */
export type ClaimsState = Readonly<Record<string, string>>;

/**
 * Who has which machine of a provider account whose machines carry no tags. One such workflow for an account:
 * its history is the one order in which all workers' claims happen.
 */
export async function claims(carried: ClaimsState = {}): Promise<never> {
  let state = carried;
  setHandler(
    takeClaimUpdate,
    (key, candidates) => {
      const had = Object.entries(state).find(([, holder]) => holder === key)?.[0];
      const machine = had ?? candidates.find((candidate) => state[candidate] === undefined);
      if (machine !== undefined) state = { ...state, [machine]: key };
      return machine ?? null;
    },
    { validator: noCheck, description: 'Give a key its machine, or the first free candidate.' },
  );
  setHandler(
    releaseClaimUpdate,
    (key) => {
      state = Object.fromEntries(Object.entries(state).filter(([, holder]) => holder !== key));
    },
    { validator: noCheck, description: 'Free what a key has.' },
  );
  setHandler(heldClaimsQuery, () => state, { description: 'Claimed machines and the keys that have them.' });
  await condition(() => workflowInfo().continueAsNewSuggested && allHandlersFinished());
  return continueAsNew<typeof claims>(state);
}
