/** What a user asks of a cluster. */
export const operationKinds = ['apply', 'delete'] as const;
export type OperationKind = (typeof operationKinds)[number];

/**
 * `held`: something failed, what did not depend on it is done, and a person decides. `superseded`: another operation
 * took its place while it was held, or delete preempted it. `rejected`: it could not be planned; nothing was done.
 */
export const operationStates = ['queued', 'running', 'held', 'done', 'rejected', 'superseded'] as const;
export type OperationState = (typeof operationStates)[number];

export interface Operation {
  /** Counts from 1 in each cluster. */
  readonly id: string;
  readonly kind: OperationKind;
  readonly state: OperationState;
  /** Who asked, as the client named itself. */
  readonly by: string;
  /** RFC 3339. */
  readonly requestedAt: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** Why it is held, rejected or superseded. */
  readonly reason?: string;
  /** Tasks planned so far and tasks done; both rise when a plan is made again. */
  readonly tasks: { readonly total: number; readonly done: number; readonly failed: number };
  /** True when there was nothing to do. */
  readonly unchanged?: true;
}

export const endedStates: readonly OperationState[] = ['done', 'rejected', 'superseded'];

/** How many ended operations a cluster remembers. */
export const rememberedOperations = 20;
