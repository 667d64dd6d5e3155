/**
 * The failure of a query that a worker cannot answer yet. Heddle's clients repeat it; the message is for
 * users of other clients.
 */
export const unreadHistory = {
  type: 'UnreadHistory',
  message: 'this worker does not have the history of this workflow yet; try again',
} as const;
