/**
 * What a query fails with that a worker cannot answer yet, for people who ask by other clients than ours:
 * ours ask again.
 */
export const unreadHistory = {
  type: 'UnreadHistory',
  message:
    'this worker must first be given the next task of this workflow, with all of its history; ask again',
} as const;
