/**
 * Something that happened, for programs outside of Heddle: parent workflows and webhooks. Its
 * form is that of the Standard Webhooks specification, with the id in the header `webhook-id`.
 */
export interface HeddleEvent<Type extends string = string, Data = unknown> {
  /** The same however often it is delivered. */
  readonly id: string;
  readonly type: Type;
  /** When it happened, RFC 3339. */
  readonly timestamp: string;
  readonly data: Data;
}

/** A webhook of a configuration as workflows know it: its address and its secret stay with the workers. */
export interface Webhook {
  readonly name: string;
  /** Types of events. Default: all. */
  readonly events?: readonly string[];
}
