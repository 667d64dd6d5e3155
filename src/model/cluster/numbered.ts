/**
 * Names a message between a cluster and one of its groups, of which one at a time is under way in each
 * direction.
 */
export interface Numbered {
  /** Of this start of the group: after a reset, a cluster may start a group once more. */
  readonly groupUid: string;
  readonly seq: number;
  /** When it was sent, by the server's clock, in ms since the epoch. */
  readonly at: number;
}

/**
 * In place of the uid: from a cluster to a group that it did not start, but an earlier cluster of its name,
 * or a run of its own that a reset cut off. The sender does not know that group's numbers, so only the time
 * counts.
 */
export const anyEarlierGroup = '*';

/** The number and the time of the last message of a sender. */
export type LastTaken = readonly [seq: number, at: number];

/**
 * Whether a message is a repetition. A sender that an administrator has reset numbers its messages from an
 * earlier number, and clocks of the server's hosts differ, so one of the two is enough.
 */
export function isRepeated({ seq, at }: Numbered, [lastSeq, lastAt]: LastTaken = [0, 0]): boolean {
  return seq <= lastSeq && at <= lastAt;
}

export function lastTaken({ seq, at }: Numbered, [lastSeq, lastAt]: LastTaken = [0, 0]): LastTaken {
  return [Math.max(seq, lastSeq), Math.max(at, lastAt)];
}
