import type { Leak, SweepPolicy, SweepReport } from '../../schema/output/system.js';
import type { NamedMachine } from '../node/ownership.js';

/** The sweep for orphaned machines: input and report. */

/** Input of one pass. */
export interface SweepInput {
  readonly policy: SweepPolicy;
  /**
   * Ids of machines that a person wants deleted: neither age nor policy matter, but two passes must see them.
   */
  readonly named?: readonly string[];
  /**
   * Earlier observations, for a pass requested by a person. A scheduled pass gets them from the previous one.
   */
  readonly earlier?: readonly Leak[];
  /** The last time that a person let the sweep delete again. */
  readonly resumed?: Resumption;
}

/** A person's word that the sweep may delete, although the database does not know all machines. */
export interface Resumption {
  /** RFC 3339. */
  readonly at: string;
  readonly by: string;
  /** Uids of the unknown clusters at that time. Their machines stay. */
  readonly uids: readonly string[];
}

/** A provider account that may have machines of ours. */
export interface SweptAccount {
  readonly name: string;
  readonly type: string;
  readonly site: string;
  /** Maximum time that the provider's lists may lag behind the actual state, in ms. */
  readonly lagMs: number;
}

/**
 * `orphan`: its cluster does not exist. `lost`: its cluster exists and does not know it. `unknown`:
 * this database has no record of its creation. `abandoned`: a user abandoned it. `duplicate`: a second
 * machine of one key, whose node has the other. `unreadable`: it has Heddle's tag, but its key cannot
 * be read. `captured`: an image that a user captured from a machine whose workflow was terminated.
 */
export type LeakKind = Leak['kind'];

/** A machine of this installation that no cluster has, as observed by one sweep. */
export type Suspect = Omit<Leak, 'account' | 'firstSeen' | 'passes'>;

/** Result of listing one account. */
export interface AccountReport {
  readonly account: SweptAccount;
  /** Machines of this installation. */
  readonly machines: number;
  readonly suspects: readonly Suspect[];
  /** Number of suspects that are not listed. */
  readonly more?: number;
  /** Data that could not be read; while there is any, no machine is deleted. */
  readonly problems: readonly string[];
  /** Owners that did not answer; machines that may be theirs are not suspects. */
  readonly silent?: readonly string[];
  /** Clusters, also beyond the named suspects, whose machines this database does not know. */
  readonly unknown?: readonly UnknownCluster[];
  /** Why the account could not be listed. */
  readonly unable?: string;
}

/** A cluster, or a previous run of one, that this database does not contain. */
export type UnknownCluster = NonNullable<SweepReport['unknown']>[number];

/**
 * A pool or image that was moved here: its earlier machines and images have the tag of another installation.
 */
export interface Origin {
  /** The first part of their keys. */
  readonly uid: string;
  readonly installation: string;
}

/** The accounts of one pass. */
export interface SweepAccounts {
  readonly origins?: readonly Origin[];
  readonly accounts: readonly SweptAccount[];
  /**
   * A sweep that a worker took part in and that the server does not know: its database was
   * restored from a backup.
   */
  readonly missing?: MissingPass;
}

export interface MissingPass {
  /** RFC 3339. */
  readonly at: string;
  readonly worker: string;
}

/** Input of LIST_ACCOUNTS. */
export interface ListAccountsRequest {
  /** When a person let the sweep delete again; what was missing before does not count. */
  readonly resumedAt?: string;
}

/** Input of FIND_LEAKS. */
export interface FindLeaksRequest {
  readonly origins?: readonly Origin[];
  readonly provider: { readonly name: string; readonly type: string };
}

export type FindLeaksReply = Omit<AccountReport, 'account'>;

/** Input of DISOWN: suspects that a workflow may own. */
export interface DisownRequest {
  readonly machines: readonly (NamedMachine & { readonly askedOf: string })[];
}

/** Ids and keys of those that are free; all others are not to be deleted. */
export interface DisownReply {
  readonly free: readonly NamedMachine[];
}

/** Deletion is off until a person resumes it. */
export type Stop = NonNullable<SweepReport['stopped']>;

export type Deletion = SweepReport['deleted'][number];
