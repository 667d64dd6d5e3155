/**
 * What an envelope has beside its message, so that it is valid once and for one receiver
 * (docs/decisions/0044-messages-once.md).
 */
export interface Seal {
  /**
   * The end of the envelope's validity, in ms since the epoch. Purpose `*` requires it. The codec server
   * knows neither purpose nor workflow, so it limits the validity of everything it encrypts.
   */
  readonly until?: number;
  /** Random: a workflow takes it once. Updates, signals and starts of clients need it. */
  readonly id?: string;
  /** When it was sealed, in ms since the epoch, by the server's clock. */
  readonly at?: number;
  /** The only receiver: the id of the first run of its workflow, or of the start that comes with it. */
  readonly to?: string;
  /** The run of the workflow that starts this one as its child. */
  readonly parent?: string;
  /** Of the start of a further run. */
  readonly after?: EarlierRun;
  /** A start by a Schedule, which repeats it. */
  readonly scheduled?: true;
}

/** What a run hands to the next beside its state. */
interface EarlierRun {
  readonly run: string;
  /** When the first run began, in ms since the epoch. */
  readonly began: number;
  /** The id of the client's start. */
  readonly start?: string;
  readonly taken: TakenMessages;
}

/**
 * The messages that a workflow has accepted, over its whole lifetime. Bounded: of forgotten messages,
 * the time remains, and what was sealed before that time and is not in the list is refused.
 */
export interface TakenMessages {
  /** The id, and when the message was sealed. */
  readonly ids: readonly (readonly [id: string, at: number])[];
  /** Messages that were sealed then or earlier are refused. */
  readonly since: number;
  /** Small answers to the last updates. */
  readonly answers: readonly (readonly [id: string, answer: unknown])[];
}

/** Of the starts of a Schedule, which repeats them. */
export const sealOfSchedule: Seal = { scheduled: true };
