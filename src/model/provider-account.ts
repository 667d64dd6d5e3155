import type { Json, JsonObject } from './json.js';

/** A provider account as the configuration names it. */
export interface ProviderAccount {
  readonly type: string;
  readonly site: string;
  /**
   * The administrator's fields as written: `checkAccounts` checks them and fills in defaults. Secrets are
   * references.
   */
  readonly fields: JsonObject;
  /** Values that users may give to fields with `overridable: listed`. */
  readonly allow?: Readonly<Record<string, readonly Json[]>>;
  /** Our words for sizes and images, and the provider's own. */
  readonly hardware?: Readonly<Record<string, string>>;
  readonly images?: Readonly<Record<string, string>>;
  /** The host that its machines are reached through, as it was written; secrets are references. */
  readonly jump?: JsonObject;
  /**
   * Whether CONFIRM may pin a host key that the provider does not report: `provided`: never; `pin`: even with
   * a password.
   */
  readonly hostKeys?: 'pin' | 'provided';
  /** Of its tasks and calls. */
  readonly limits?: {
    readonly ratePerSecond?: number;
    readonly callsPerSecond?: number;
    readonly concurrency?: number;
    /** Of CONFIRM, in seconds. */
    readonly confirmWithin?: number;
    /** Of a LOAD altogether, and of its write without new progress, in seconds. */
    readonly loadWithin?: number;
    readonly progressWithin?: number;
  };
}
