import { newMemory, query, runEntity, update } from '../entity.js';
import { heldClaimsQuery, releaseClaimUpdate, acquireClaimUpdate } from '../cluster/messages.js';

/** The key that holds each claimed machine. */
type ClaimsState = Readonly<Record<string, string>>;

/**
 * The machines that are claimed in a provider account whose machines carry no tags. There is one such
 * workflow per account, so its history orders the claims of all workers.
 */
export async function claims(input?: { readonly carried: ClaimsState }): Promise<string> {
  let state = input?.carried ?? {};
  return runEntity(newMemory(), {
    messages: [
      update(acquireClaimUpdate, 'Claim the first free candidate for a key.', (key, candidates) => {
        const claimed = Object.entries(state).find(([, holder]) => holder === key)?.[0];
        const machine = claimed ?? candidates.find((candidate) => state[candidate] === undefined);
        if (machine !== undefined) state = { ...state, [machine]: key };
        return machine ?? null;
      }),
      update(releaseClaimUpdate, 'Release the machine of a key.', (key) => {
        state = Object.fromEntries(Object.entries(state).filter(([, holder]) => holder !== key));
      }),
      query(heldClaimsQuery, 'Claimed machines and the keys that hold them.', () => state),
    ],
    carry: () => state,
  });
}
