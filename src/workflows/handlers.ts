import type { ArgumentsOf, Contract, ReplyOf, Row } from '../model/contract.js';

/** Why a message is refused: a sentence, or a sentence with the failure type that clients read. */
export type Refusal = string | { readonly is: string; readonly why: string };

/** What a workflow does about each message of its contract. */
export type Handlers<Of extends Contract> = {
  readonly [Kind in MessageKinds as keyof Of[Kind] extends never ? never : Kind]: {
    readonly [Name in keyof Of[Kind]]: Of[Kind][Name] extends Row ? HandlerOf<Kind, Of[Kind][Name]> : never;
  };
};

type MessageKinds = 'updates' | 'signals' | 'queries';

type HandlerOf<Kind extends MessageKinds, Of extends Row> = Kind extends 'updates'
  ? Handle<Of> | readonly [handle: Handle<Of>, refusalOf: (...args: ArgumentsOf<Of>) => Refusal | undefined]
  : (...args: ArgumentsOf<Of>) => ReplyOf<Of>;

type Handle<Of extends Row> = (...args: ArgumentsOf<Of>) => ReplyOf<Of> | Promise<ReplyOf<Of>>;

/** Of a message of which no more is known. */
export type AnyFunction = (...args: unknown[]) => unknown;
export interface AnyHandlers {
  readonly updates: Readonly<Record<string, AnyFunction | readonly [AnyFunction, RefusalOf]>>;
  readonly signals: Readonly<Record<string, AnyFunction>>;
  readonly queries: Readonly<Record<string, AnyFunction>>;
}
export type RefusalOf = (...args: unknown[]) => Refusal | undefined;
