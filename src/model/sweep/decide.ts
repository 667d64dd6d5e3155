import { readMachineKey } from '../names.js';
import type {
  AccountReport,
  LeakKind,
  MissingPass,
  Stop,
  Suspect,
  SweepInput,
  SweptAccount,
  UnknownCluster,
} from './sweep.js';
import type { Leak } from '../../schema/output/system.js';

/** Decisions of the sweep. Pure. */

export interface SweepDecision {
  readonly leaks: readonly Leak[];
  /** Leaks to delete now. */
  readonly ripe: readonly Leak[];
  /** Why nothing is deleted at all. */
  readonly refused: readonly string[];
  readonly unknown: readonly UnknownCluster[];
  readonly stopped?: Stop;
}

export interface Evidence {
  /** Ms since the epoch. */
  readonly now: number;
  readonly input: SweepInput;
  readonly earlier: readonly Leak[];
  readonly reports: readonly AccountReport[];
  /** Why the pass before stopped all deletions until a person resumes them. */
  readonly stopped?: Stop;
  readonly missing?: MissingPass;
}

/** Leaks carried from pass to pass; further ones appear when these are gone. */
export const rememberedLeaks = 300;

/** Number of consecutive sweeps that must find a leak before it may be deleted. */
export const neededPasses = 2;

/** Two accounts of one cloud show the same machines: the first one keeps them. */
export function withoutRepeats(reports: readonly AccountReport[]): readonly AccountReport[] {
  const seen = new Set<string>();
  return reports.map((report) => {
    const suspects = report.suspects.filter(({ providerid, key }) => {
      const id = JSON.stringify([report.account.type, providerid, key]);
      return !seen.has(id) && seen.add(id);
    });
    return { ...report, suspects };
  });
}

/** What is a leak, since when, and which of them may go now. */
export function decideSweep(evidence: Evidence): SweepDecision {
  const { reports, earlier } = evidence;
  const unread = new Set(
    reports
      .filter(({ problems, unable }) => problems.length > 0 || unable !== undefined)
      .map(({ account }) => account.name),
  );
  const seen = reports.flatMap(({ account, suspects }) =>
    suspects.map((suspect) => seenAgain(evidence, account, suspect)),
  );
  const ids = new Set(seen.map(leakId));
  // An unreadable account does not invalidate earlier observations there.
  const kept = earlier.filter((leak) => unread.has(leak.account) && !ids.has(leakId(leak)));
  const leaks = [...seen, ...kept]
    .toSorted((one, other) => Date.parse(one.firstSeen) - Date.parse(other.firstSeen))
    .slice(0, rememberedLeaks);
  const stopped = stopOf(evidence);
  const unknown = unknownClusters(reports, seen);
  const refused = refusalsOf(evidence, unknown, stopped);
  return {
    leaks,
    refused,
    unknown,
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
    kind: kindOf(earlier, suspect, before),
    account,
    firstSeen: before?.firstSeen ?? new Date(now).toISOString(),
    passes: (before?.passes ?? 0) + 1,
  };
}

/**
 * A record that appears later is of something else: a restored cluster may give an incarnation
 * to another node.
 */
function kindOf(earlier: readonly Leak[], suspect: Suspect, before: Leak | undefined): LeakKind {
  const { kind, askedOf } = suspect;
  if (isForgotten(earlier, suspect, before)) return askedOf === undefined ? 'orphan' : 'lost';
  return before?.kind === 'unknown' && (kind === 'orphan' || kind === 'lost') ? 'unknown' : kind;
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
 * One unreadable account stops all deletions: the knowledge is incomplete. So does a machine that
 * this database has no record of: others may belong to clusters that it does not know either.
 */
function refusalsOf(
  { reports, input }: Evidence,
  unknown: readonly UnknownCluster[],
  stopped: Stop | undefined,
): readonly string[] {
  const problems = reports.flatMap((report) => report.problems);
  const resumed = new Set(input.resumed?.uids);
  const unexpected = unknown.filter(({ uid }) => !resumed.has(uid));
  return [
    ...problems,
    ...(stopped === undefined ? [] : [stopped.why]),
    ...(unexpected.length === 0 ? [] : [textOfUnknown(unexpected)]),
  ];
}

/**
 * Of all accounts, each cluster once. Suspects are named up to a limit; of those beyond no
 * earlier pass is known to have seen a record.
 */
function unknownClusters(
  reports: readonly AccountReport[],
  seen: readonly Leak[],
): readonly UnknownCluster[] {
  const named = new Set(
    reports
      .flatMap(({ suspects }) => suspects)
      .filter(isUnknown)
      .map(uidOf),
  );
  const left = seen.filter(isUnknown);
  const found: Record<string, UnknownCluster> = {};
  for (const one of reports.flatMap(({ unknown = [] }) => unknown))
    if (!named.has(one.uid) || left.some((leak) => uidOf(leak) === one.uid))
      found[one.uid] = { ...one, machines: one.machines + (found[one.uid]?.machines ?? 0) };
  for (const { key, cluster } of left) {
    const uid = uidOf({ key });
    if (uid !== undefined)
      found[uid] ??= {
        uid,
        machines: left.filter((leak) => uidOf(leak) === uid).length,
        ...(cluster === undefined ? {} : { cluster }),
      };
  }
  return Object.values(found);
}

function isUnknown({ kind }: Suspect): boolean {
  return kind === 'unknown';
}

function textOfUnknown(unknown: readonly UnknownCluster[]): string {
  const machines = unknown.reduce((sum, one) => sum + one.machines, 0);
  const names = [...new Set(unknown.map(({ cluster, uid }) => cluster ?? uid))];
  const some = `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
  return `${machines} ${machines === 1 ? 'machine has' : 'machines have'} the tag of this installation, and its database has no record of them (${some}): it may have been restored from an older backup`;
}

function ripeOf(
  { now, input: { policy, named, resumed }, reports }: Evidence,
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
  const lags = Object.fromEntries(reports.map(({ account }) => [account.name, account.lagMs]));
  const ripe = twice.filter(
    (leak) =>
      deletable(leak, ['orphan', 'lost']) &&
      resumed?.uids.includes(uidOf(leak) ?? '') !== true &&
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
