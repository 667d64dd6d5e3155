import { readRefusal } from './refusal.js';
import type { Seal } from './seal.js';

/**
 * The one argument of every message to a Heddle workflow and of every activity. The purpose is encrypted
 * together with the arguments: a recorded payload cannot be sent again as a message of another kind, and a
 * message without arguments proves that its sender has the keys.
 */
export interface Envelope extends Seal {
  /**
   * The only message that may carry this envelope, such as `update delete` or `activity CREATE`; `*` for any
   * message.
   */
  readonly heddle: string;
  readonly args: readonly unknown[];
}

/** How long a message that the codec server encrypted is valid, in ms. */
export const validMs = 10 * 60_000;
/** How far the clock of a sender may be ahead of the server's, in ms. */
export const skewMs = 60_000;

export type MessageKind = 'start' | 'signal' | 'update' | 'query' | 'activity';

export type OpenedEnvelope =
  | { readonly ok: true; readonly args: readonly unknown[]; readonly seal: Seal }
  /** For the sender: the problem and what to do. */
  | { readonly ok: false; readonly why: string };

export function purposeOf(kind: MessageKind, name: string): string {
  return `${kind} ${name}`;
}

/** Trailing undefined arguments are left out: JSON would make them null. */
export function sealMessage(purpose: string, args: readonly unknown[], seal: Seal = {}): [Envelope] {
  const given = args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1);
  return [{ heddle: purpose, args: given, ...seal }];
}

/** True for an object in the form of an envelope, of any purpose. */
export function isEnvelope(value: unknown): value is Envelope {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, 'heddle') &&
    Object.hasOwn(value, 'args') &&
    typeof (value as Envelope).heddle === 'string' &&
    Array.isArray((value as Envelope).args)
  );
}

/** @param now ms since the epoch, by the clock of the workflow. */
export function openMessage(purpose: string, args: readonly unknown[], now: number): OpenedEnvelope {
  const refusal = args.map(readRefusal).find((why) => why !== undefined);
  if (refusal !== undefined) return { ok: false, why: refusal };
  const [envelope] = args;
  if (args.length !== 1 || !isEnvelope(envelope)) return { ok: false, why: `${purpose} ${notSealed}` };
  const { heddle, args: opened, ...seal } = envelope;
  const { until } = seal;
  // Only workflows schedule activities, and they know the purpose.
  if (heddle !== purpose && (heddle !== '*' || purpose.startsWith('activity '))) {
    const other = JSON.stringify(heddle.slice(0, 100));
    return { ok: false, why: `${purpose} was refused: its payload belongs to the message ${other}` };
  }
  if (heddle === purpose && until === undefined) return { ok: true, args: opened, seal };
  if (typeof until === 'number' && now < until && until <= now + validMs + skewMs)
    return { ok: true, args: opened, seal };
  if (typeof until === 'number' && now < until) return { ok: false, why: `${purpose} ${fromLater}` };
  return {
    ok: false,
    why: `${purpose} was encrypted by the codec server too long ago, or its clock is behind: send it again`,
  };
}

const notSealed =
  "was not sent by Heddle's client: use the heddle command, or a Temporal client with Heddle's plugin";

const fromLater =
  "was encrypted by a codec server whose clock is ahead of the Temporal server's: synchronise it, then send it again";
