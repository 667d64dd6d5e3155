import type { Shape, ValueOf } from './shape.js';

/**
 * The messages of a workflow type. Everything else about them derives from this: the types of
 * requests and replies, the definitions of Temporal, the check of what arrives, and the
 * handlers that a workflow must have.
 */
export interface Contract {
  /** The workflow ids that messages to it are sent to. */
  readonly ids: RegExp;
  readonly start: Arguments;
  readonly updates: Rows;
  readonly signals: Rows;
  readonly queries: Rows;
}

/** The shapes of a message's arguments, in order. */
export type Arguments = readonly Shape[];

export type Rows = Readonly<Record<string, Row>>;

export interface Row<Args extends Arguments = Arguments, Reply = unknown> {
  /** For people, in the Web UI. */
  readonly summary: string;
  readonly args: Args;
  /** The type of the reply; never present. */
  readonly reply?: Reply;
}

/** A message without reply. */
export function row<const Args extends Arguments>(summary: string, args: Args): Row<Args, void>;
/** @param _reply see `replies` */
export function row<const Args extends Arguments, Reply>(
  summary: string,
  args: Args,
  _reply: Replies<Reply>,
): Row<Args, Reply>;
export function row(summary: string, args: Arguments): Row {
  return { summary, args };
}

declare const replyType: unique symbol;
export interface Replies<Reply> {
  readonly [replyType]?: Reply;
}

/** Says the type of a reply, which is not checked: results are sealed. */
export function replies<Reply>(): Replies<Reply> {
  return {};
}

/** The types of a message's arguments. */
export type ArgumentsOf<Of extends Row> =
  Of extends Row<infer Args, unknown> ? { -readonly [Index in keyof Args]: ValueOf<Args[Index]> } : never;

/** The type of a message's only argument. */
export type RequestOf<Of extends Row> = ArgumentsOf<Of>[0];

export type ReplyOf<Of extends Row> = Of extends Row<Arguments, infer Reply> ? Reply : never;
