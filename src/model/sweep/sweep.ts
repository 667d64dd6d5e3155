import { readMachineKey } from '../names.js';
import type { NamedMachine } from '../node/ownership.js';

/** The sweep for orphaned machines: input, report and decisions. Pure. */

export interface SweepPolicy {
  /** How long a machine must have been seen unowned before it may be deleted, in ms. */
  readonly minimumAgeMs: number;
  /** Most machines deleted in one pass. */
  readonly cap: number;
  /** Unless true, nothing is deleted: a dry run. */
  readonly delete: boolean;
}

export interface SweepSettings {
  /** Time between two passes, in ms. */
  readonly everyMs: number;
  readonly policy: SweepPolicy;
}

/**
 * Often enough to notice, late enough that nothing under way is taken for a leak, and a dry run until
 * it is switched on.
 */
export const defaultSweep: SweepSettings = {
  everyMs: 15 * 60_000,
  policy: { minimumAgeMs: 60 * 60_000, cap: 5, delete: false },
};

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
  /** For so long, in ms, what the provider shows may be behind the truth, one way and the other. */
  readonly lagMs: number;
}

/**
 * `orphan`: its cluster does not live. `lost`: its cluster lives and does not know it. `unknown`: this database
 * has no record that it was ever made. `abandoned`: a person gave it up. `duplicate`: a second machine of one key, whose node has the other. `unreadable`: it has our
 * tag, and no key that can be read. `captured`: an image that a person had captured, of a machine whose
 * workflow was cut off.
 */
export type LeakKind = 'orphan' | 'lost' | 'unknown' | 'abandoned' | 'duplicate' | 'unreadable' | 'captured';

/** A machine of ours that no cluster has, as one look shows it. */
export interface Suspect {
  readonly kind: LeakKind;
  /**
   * An image that was uploaded or captured, and `providerid` the provider's word for it; absent: a machine.
   */
  readonly what?: 'image';
  readonly providerid: string;
  readonly key: string;
  /** The cluster in the machine's tags, if any. */
  readonly cluster?: string;
  /** The workflow that disowned it; absent if there is none. */
  readonly askedOf?: string;
  readonly state: string;
  /** RFC 3339, if the provider reports it. */
  readonly createdAt?: string;
}

/** Result of listing one account. */
export interface AccountReport {
  readonly account: SweptAccount;
  /** Machines of this installation. */
  readonly machines: number;
  readonly suspects: readonly Suspect[];
  /** Suspects beyond those that are named. */
  readonly more?: number;
  /** What could not be read: no machine is deleted while there is any of it. */
  readonly problems: readonly string[];
  /** Owners that did not answer: what may be theirs is no suspect. */
  readonly silent?: readonly string[];
  /** Clusters, also beyond the named suspects, whose machines this database does not know. */
  readonly unknown?: readonly UnknownCluster[];
  /** Why the account could not be listed. */
  readonly unable?: string;
}

/** A cluster, or a life of one, of which this database has no record. */
export interface UnknownCluster {
  /** In the keys of its machines. */
  readonly uid: string;
  /** In the tags of its machines. */
  readonly cluster?: string;
  readonly machines: number;
}

/** A pool or image that was moved here: its machines and images from before carry another installation. */
export interface Origin {
  /** The first part of their keys. */
  readonly uid: string;
  readonly installation: string;
}

/** The accounts of one pass. */
export interface SweepAccounts {
  readonly origins?: readonly Origin[];
  readonly accounts: readonly SweptAccount[];
  /** A pass that a worker took part in, and of which the server has no record: its database is an older one. */
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

/** Input of DISOWN: suspects that a workflow was asked for. */
export interface DisownRequest {
  readonly machines: readonly (NamedMachine & { readonly askedOf: string })[];
}

/** Ids and keys of those that are free; all others are not to be deleted. */
export interface DisownReply {
  readonly free: readonly NamedMachine[];
}

/** A suspect that passes have seen. */
export interface Leak extends Suspect {
  readonly account: string;
  /** RFC 3339, by the sweep's own clock. */
  readonly firstSeen: string;
  /** Passes in a row that saw it. */
  readonly passes: number;
}

export interface SweepDecision {
  readonly leaks: readonly Leak[];
  /** Those that are to be deleted now. */
  readonly ripe: readonly Leak[];
  /** Why nothing is deleted at all. */
  readonly refused: readonly string[];
  readonly stopped?: Stop;
}

export interface Evidence {
  /** Ms since the epoch. */
  readonly now: number;
  readonly input: SweepInput;
  readonly earlier: readonly Leak[];
  readonly looks: readonly AccountReport[];
  /** Why the pass before stopped all deletions until a person resumes them. */
  readonly stopped?: Stop;
  readonly missing?: MissingPass;
}

/** Deletion is off until a person resumes it. */
interface Stop {
  /** RFC 3339. */
  readonly at: string;
  readonly why: string;
}

/** Leaks carried from pass to pass; further ones appear when these are gone. */
export const rememberedLeaks = 300;

/** Passes in a row that must have seen a leak before it may be deleted. */
export const neededPasses = 2;

/** Two accounts of one cloud show the same machines: the first one keeps them. */
export function withoutRepeats(looks: readonly AccountReport[]): readonly AccountReport[] {
  const seen = new Set<string>();
  return looks.map((look) => {
    const suspects = look.suspects.filter(({ providerid, key }) => {
      const id = JSON.stringify([look.account.type, providerid, key]);
      return !seen.has(id) && seen.add(id);
    });
    return { ...look, suspects };
  });
}

/** What is a leak, since when, and which of them may go now. */
export function decideSweep(evidence: Evidence): SweepDecision {
  const { looks, earlier } = evidence;
  const unread = new Set(
    looks
      .filter(({ problems, unable }) => problems.length > 0 || unable !== undefined)
      .map(({ account }) => account.name),
  );
  const seen = looks.flatMap(({ account, suspects }) =>
    suspects.map((suspect) => seenAgain(evidence, account, suspect)),
  );
  const ids = new Set(seen.map(leakId));
  // An unreadable account says nothing about earlier observations there.
  const kept = earlier.filter((leak) => unread.has(leak.account) && !ids.has(leakId(leak)));
  const leaks = [...seen, ...kept]
    .toSorted((one, other) => Date.parse(one.firstSeen) - Date.parse(other.firstSeen))
    .slice(0, rememberedLeaks);
  const stopped = stopOf(evidence);
  const refused = refusalsOf(evidence, seen, stopped);
  return {
    leaks,
    refused,
    ...(stopped === undefined ? {} : { stopped }),
    ripe: ripeOf(
      evidence,
      leaks.filter((leak) => ids.has(leakId(leak))),
      refused,
    ),
  };
}

export function leakId({ account, providerid, key }: Pick<Leak, 'account' | 'providerid' | 'key'>): string {
  return JSON.stringify([account, providerid, key]);
}

function seenAgain({ now, earlier }: Evidence, { name: account }: SweptAccount, suspect: Suspect): Leak {
  const { providerid, key } = suspect;
  const before = earlier.find((leak) => leakId(leak) === leakId({ account, providerid, key }));
  return {
    ...suspect,
    kind: isForgotten(earlier, suspect, before)
      ? suspect.askedOf === undefined
        ? 'orphan'
        : 'lost'
      : suspect.kind,
    account,
    firstSeen: before?.firstSeen ?? new Date(now).toISOString(),
    passes: (before?.passes ?? 0) + 1,
  };
}

/**
 * Whether an earlier pass saw a record of the unknown machine: the server forgets closed workflows after its
 * retention, the passes do not.
 */
function isForgotten(
  earlier: readonly Leak[],
  { kind, key, askedOf }: Suspect,
  before: Leak | undefined,
): boolean {
  if (kind !== 'unknown') return false;
  if (before?.kind === 'orphan' || before?.kind === 'lost') return true;
  return (
    askedOf === undefined && earlier.some((leak) => leak.kind === 'orphan' && uidOf(leak) === uidOf({ key }))
  );
}

function uidOf({ key }: Pick<Leak, 'key'>): string | undefined {
  return readMachineKey(key)?.clusterUid;
}

function stopOf({ now, input: { resumed }, stopped, missing }: Evidence): Stop | undefined {
  const isOver = stopped !== undefined && resumed !== undefined && resumed.at >= stopped.at;
  if (stopped !== undefined && !isOver) return stopped;
  if (missing === undefined) return undefined;
  const why = `worker ${missing.worker} took part in a pass at ${missing.at} of which the server has no record: its database was restored from an older backup`;
  return { at: new Date(now).toISOString(), why };
}

/**
 * One unreadable account stops all deletions: the knowledge is incomplete. So does a machine that this database
 * has no record of: others may belong to clusters that it does not know either.
 */
function refusalsOf(
  { looks, input }: Evidence,
  seen: readonly Leak[],
  stopped: Stop | undefined,
): readonly string[] {
  const problems = looks.flatMap((look) => look.problems);
  const named = uidsOfUnknown(looks.flatMap(({ suspects }) => suspects));
  const left = uidsOfUnknown(seen);
  const resumed = new Set(input.resumed?.uids);
  // Of clusters beyond the named suspects no earlier pass is known to have seen a record.
  const unknown = unknownClusters(looks).filter(
    ({ uid }) => !resumed.has(uid) && (left.has(uid) || !named.has(uid)),
  );
  return [
    ...problems,
    ...(stopped === undefined ? [] : [stopped.why]),
    ...(unknown.length === 0 ? [] : [textOfUnknown(unknown)]),
  ];
}

function uidsOfUnknown(suspects: readonly Suspect[]): ReadonlySet<string | undefined> {
  return new Set(suspects.filter(({ kind }) => kind === 'unknown').map(uidOf));
}

/** Of all accounts, each once. */
export function unknownClusters(looks: readonly Pick<AccountReport, 'unknown'>[]): readonly UnknownCluster[] {
  const found: Record<string, UnknownCluster> = {};
  for (const one of looks.flatMap(({ unknown = [] }) => unknown))
    found[one.uid] = { ...one, machines: one.machines + (found[one.uid]?.machines ?? 0) };
  return Object.values(found);
}

function textOfUnknown(unknown: readonly UnknownCluster[]): string {
  const machines = unknown.reduce((sum, one) => sum + one.machines, 0);
  const names = [...new Set(unknown.map(({ cluster, uid }) => cluster ?? uid))];
  const some = `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
  return `${machines} ${machines === 1 ? 'machine has' : 'machines have'} the tag of this installation, and its database has no record of them (${some}): it may have been restored from an older backup`;
}

function ripeOf(
  { now, input: { policy, named }, looks }: Evidence,
  leaks: readonly Leak[],
  refused: readonly string[],
): readonly Leak[] {
  const twice = leaks.filter(({ passes }) => passes >= neededPasses);
  if (named !== undefined)
    return onePerKey(
      twice.filter(
        (leak) =>
          named.includes(leak.providerid) &&
          deletable(leak, ['orphan', 'lost', 'unknown', 'abandoned', 'captured']),
      ),
    );
  if (!policy.delete || refused.length > 0) return [];
  const lags = Object.fromEntries(looks.map(({ account }) => [account.name, account.lagMs]));
  const ripe = twice.filter(
    (leak) =>
      deletable(leak, ['orphan', 'lost']) &&
      now - Date.parse(leak.firstSeen) >= Math.max(policy.minimumAgeMs, lags[leak.account] ?? 0),
  );
  return onePerKey(ripe).slice(0, policy.cap);
}

function deletable({ kind }: Leak, kinds: readonly LeakKind[]): boolean {
  return kinds.includes(kind);
}

/** Two machines of one key are deleted one after the other, because absence is tracked by key. */
function onePerKey(leaks: readonly Leak[]): readonly Leak[] {
  return leaks.filter(
    (leak, index) =>
      leaks.findIndex(({ account, key }) => account === leak.account && key === leak.key) === index,
  );
}

export interface Deletion {
  readonly account: string;
  readonly providerid: string;
  readonly key: string;
  /** Absent when it is gone. */
  readonly failed?: string;
}

/** What one pass came to. */
export interface SweepReport {
  readonly reportVersion: 1;
  /** RFC 3339. */
  readonly at: string;
  readonly policy: SweepPolicy;
  readonly accounts: readonly {
    readonly name: string;
    readonly machines: number;
    readonly leaks: number;
    readonly unable?: string;
  }[];
  readonly leaks: readonly Leak[];
  readonly deleted: readonly Deletion[];
  readonly refused: readonly string[];
  /** Owners that did not answer; what may be theirs stays. */
  readonly silent?: readonly string[];
  readonly unknown?: readonly UnknownCluster[];
  readonly stopped?: Stop;
}
