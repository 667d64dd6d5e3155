import { claimsContract, type ClaimRequest } from '../../model/account/contract.js';
import { bounds } from '../../model/bounds.js';
import { refuseGrowth } from '../../model/carried.js';
import { newMemory, runEntity, handlersOf } from '../entity.js';

/** The key that holds each claimed machine. */
type ClaimsState = Readonly<Record<string, string>>;

/**
 * The machines that are claimed in a provider account whose machines carry no tags. There is one such
 * workflow per account, so its history orders the claims of all workers.
 */
export async function claims(input?: { readonly carried: ClaimsState }): Promise<string> {
  const holders = new Map(Object.entries(input?.carried ?? {}));
  const machines = new Map([...holders].map(([machine, key]) => [key, machine]));

  const release = (key: string): void => {
    const machine = machines.get(key);
    if (machine === undefined) return;
    machines.delete(key);
    holders.delete(machine);
  };
  const take = (key: string, candidates: readonly string[]): string | null => {
    const machine = machines.get(key) ?? candidates.find((candidate) => !holders.has(candidate));
    if (machine === undefined) return null;
    machines.set(key, machine);
    holders.set(machine, key);
    return machine;
  };
  const change = (request: ClaimRequest): readonly (string | null)[] => {
    for (const key of request.release) release(key);
    return request.take.map(({ key, candidates }) => take(key, request.candidates[candidates] ?? []));
  };

  return runEntity(newMemory(), {
    messages: handlersOf(claimsContract, {
      updates: {
        claim: [
          change,
          ({ take: added, candidates }) =>
            added.length === 0
              ? undefined
              : refuseGrowth(
                  'the claims of this account',
                  {
                    state: Object.fromEntries(holders),
                    added: added.map(({ key, candidates: index }) => [key, longest(candidates[index] ?? [])]),
                  },
                  'divide its machines among several accounts',
                ),
        ],
      },
      queries: { held: () => Object.fromEntries(holders) },
    }),
    carry: () => Object.fromEntries(holders),
    bounds: bounds.claims,
  });
}

/** Which one is claimed is not known before. */
function longest(names: readonly string[]): string {
  return names.reduce((one, other) => (other.length > one.length ? other : one), '');
}
