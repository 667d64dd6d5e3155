import type { Wanted, ReservationSettings } from './state.js';
import type { Answer } from '../machine/answer.js';
import type { ImageRef } from '../machine/image.js';
import type { MessageIntent } from '../machine/intents.js';
import type { Verdict } from '../machine/node-status.js';
import type { Webhook } from '../event.js';

/** Asks which registered machines would do. */
export interface FindCandidatesRequest {
  readonly wanted: Wanted;
  readonly image: ImageRef;
  /** Those that the reservation has or had, and does not want again. */
  readonly than?: readonly string[];
  /** Repeat the search until every machine has answered. */
  readonly all?: true;
}

export interface FindCandidatesReply {
  /** Best first. */
  readonly computers: readonly Candidate[];
  /** Why others would not, in words; at most a few. */
  readonly others: readonly string[];
  /** Some did not answer, so machines that fit may be missing. */
  readonly incomplete?: true;
  readonly settings: ReservationSettings;
  /** The webhooks of that worker; absent if there are none. */
  readonly webhooks?: readonly Webhook[];
}

export interface Candidate {
  readonly name: string;
  readonly uid: string;
  readonly defaultImage: ImageRef;
}

/** Asks a machine for one operation, and waits for its end. */
export interface OperateMachineRequest {
  readonly machine: string;
  readonly uid: string;
  readonly intent: MessageIntent;
  /** The reservation that asks. */
  readonly holder: string;
  /** Of several requests with this name a machine carries out one. */
  readonly key: string;
  /** RFC 3339: while the machine is busy it is asked until then. */
  readonly until: string;
}

/** Names a load that is no longer needed by its request. */
export interface StopLoadRequest extends Pick<OperateMachineRequest, 'machine' | 'uid' | 'key'> {
  /** RFC 3339: the machine does not accept the request after this. */
  readonly until: string;
}

/** `refused`: the machine does not accept it; nothing was done. `gone`: the machine no longer exists. */
export type OperateMachineReply =
  | { readonly is: 'done'; readonly verdict?: Verdict; readonly notes: readonly string[] }
  | { readonly is: 'not done'; readonly answer: Exclude<Answer, 'done'>; readonly why: string }
  | { readonly is: 'refused' | 'gone'; readonly why: string };
