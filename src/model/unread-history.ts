/**
 * The failure of a query that a worker cannot answer yet. Heddle's clients repeat it; the message is for
 * users of other clients.
 */
export const unreadHistory = {
  type: 'UnreadHistory',
  message:
    'this worker must first be given the next task of this workflow, with all of its history; ask again',
} as const;
