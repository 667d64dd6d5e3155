import { deleteLeaks, type LeaksView, readLeaks, sweepNow } from '../../client/leaks.js';
import { statusOfLeak } from '../../model/sweep/sweep-text.js';
import type { SweepReport } from '../../schema/output/system.js';
import { cleanLine } from '../clean-text.js';
import { printNext } from '../cluster/status-text.js';
import type { ServerOptions } from '../configuration.js';
import { confirm } from '../terminal.js';
import { exitCodes } from '../errors.js';
import type { Output } from '../output.js';
import { requireWorker } from '../session.js';
import { formatAge, formatCount, formatDuration, formatMoment } from '../format.js';
import { verb } from '../verb.js';

interface LeaksOptions extends ServerOptions {
  /** Runs a sweep first. */
  readonly sweep?: boolean;
  /** Ids of machines. */
  readonly delete?: readonly string[];
  readonly resume?: boolean;
  readonly yes?: boolean;
}

/** Orphaned machines of this installation. */
export function leaks(options: LeaksOptions): Promise<number> {
  if (options.delete !== undefined) return deleteNamed(options.delete, options);
  return options.resume === true ? resume(options) : list(options);
}

const list = verb(
  async (session, { sweep = false }: LeaksOptions) => {
    if (sweep) {
      await requireWorker(session);
      await sweepNow(session.temporal);
    }
    return readLeaks(session.temporal);
  },
  { print: (output, view) => printView(output, view, Date.now()) },
);

const resume = verb(
  async ({ client, temporal }, options: LeaksOptions) => {
    const { report } = await readLeaks(temporal);
    const { unknown = [], stopped } = report ?? {};
    const machines = unknown.reduce((sum, one) => sum + one.machines, 0);
    await confirm(
      `${stopped === undefined ? '' : `${cleanLine(stopped.why)}. `}The database has no record of ${formatCount(machines, 'machine')}; they stay. Let sweeps delete the others again?`,
      options,
    );
    await client.resumeSweep();
    return readLeaks(temporal);
  },
  { print: (output) => output.line('sweeps delete again, from the next one on; unknown machines stay') },
);

const deleteNamed = verb(
  async ({ temporal }, ids: readonly string[], options: LeaksOptions) => {
    const { report } = await readLeaks(temporal);
    const named = (report?.leaks ?? []).filter(({ providerid }) => ids.includes(providerid));
    await confirm(
      `Delete ${named.length === 0 ? ids.join(', ') : named.map(({ account, providerid, key }) => `${providerid} of ${account} (${key})`).join(', ')}?`,
      options,
    );
    const done = await deleteLeaks(temporal, ids);
    const deleted = done.deleted.flatMap(({ failed, providerid }) =>
      failed === undefined ? [providerid] : [],
    );
    const left = ids
      .filter((id) => !deleted.includes(id))
      .map((providerid) => ({ providerid, why: whyLeft(done, providerid) }));
    // Later commands show the new state. What was deleted is reported even if this sweep fails.
    await sweepNow(temporal).catch(() => undefined);
    return { deleted, left, report: done };
  },
  {
    worker: true,
    print: (output, { deleted, left }) => {
      for (const id of deleted) output.line(`deleted ${id}`);
      for (const { providerid, why } of left) output.line(`not deleted: ${providerid}, ${why}`, 'red');
    },
    exitCode: ({ left }) => (left.length > 0 ? exitCodes.failed : exitCodes.ok),
  },
);

function whyLeft({ deleted, leaks: still, accounts, refused }: SweepReport, id: string): string {
  const failed = deleted.find(({ providerid }) => providerid === id)?.failed;
  if (failed !== undefined) return failed;
  const leak = still.find(({ providerid }) => providerid === id);
  if (leak?.kind === 'duplicate')
    return 'because its node has another machine of the same key: delete it at the provider';
  if (leak?.kind === 'unreadable') return 'because its key cannot be read: delete it at the provider';
  if (refused.length > 0) return `because not everything could be read: ${refused.join('; ')}`;
  return leak === undefined
    ? `because it no longer exists, or a cluster has it (checked: ${accounts.map(({ name }) => name).join(', ')})`
    : 'because its cluster did not release it';
}

function printView(output: Output, { report, schedule }: LeaksView, now: number): void {
  const { policy, everyMs, paused, next, running } = schedule;
  if (report === undefined) output.line(`the sweep has not run yet${running ? '; it is running now' : ''}`);
  else printReport(output, report, now);
  const when =
    paused === undefined
      ? `every ${formatDuration(everyMs)}${next === undefined ? '' : `, next at ${formatMoment(next)}`}`
      : `paused: ${cleanLine(paused)}`;
  output.line();
  output.line(`sweep: ${when}`);
  output.line(
    policy.delete
      ? `deletes machines and images seen for ${formatDuration(policy.minimumAgeMs)}, at most ${policy.cap} at a time`
      : 'deletes nothing (dry run); `sweep: {delete: true}` in heddle.yaml enables deletion',
  );
  const named = report?.leaks.find(
    ({ kind }) => kind === 'orphan' || kind === 'lost' || kind === 'abandoned' || kind === 'captured',
  );
  printNext(output, [
    ...(named === undefined
      ? []
      : [{ command: `heddle leaks --delete ${cleanLine(named.providerid)}`, why: 'delete this one now' }]),
    ...(isStopped(report, schedule)
      ? [
          {
            command: 'heddle leaks --resume',
            why: 'if the database is the right one: delete again, except for unknown machines',
          },
        ]
      : []),
    { command: 'heddle leaks --sweep', why: 'run a sweep now' },
  ]);
}

/** Whether the database seems to be older than the machines, and a person has not resumed sweeps since. */
function isStopped(report: SweepReport | undefined, { resumed }: LeaksView['schedule']): boolean {
  if (report === undefined) return false;
  const { unknown = [], stopped } = report;
  const isAnswered = stopped === undefined || (resumed !== undefined && resumed.at >= stopped.at);
  return !isAnswered || unknown.some(({ uid }) => resumed?.uids.includes(uid) !== true);
}

function printReport(output: Output, report: SweepReport, now: number): void {
  const { at, leaks: found, accounts, refused, silent = [], deleted } = report;
  const machines = accounts.reduce((sum, account) => sum + account.machines, 0);
  const more = accounts.reduce((sum, account) => sum + account.leaks, 0) - found.length;
  output.line(
    `${found.length === 0 ? 'none' : found.length} of ${formatCount(machines, 'machine')} orphaned, as of ${formatMoment(at)} (${formatAge(at, now)} ago)`,
  );
  for (const why of refused) output.line(`refused to delete: ${why}`, 'red');
  for (const why of silent) output.line(`skipped: ${why}`);
  for (const { name, unable } of accounts)
    if (unable !== undefined) output.line(`not checked: ${name}, because ${unable}`);
  for (const { account, providerid, key, failed } of deleted)
    if (failed === undefined) output.line(`deleted: ${providerid} of ${account} (${key})`);
  if (found.length === 0) return;
  const rows = found.map((leak) => [
    `${leak.what === 'image' ? 'image ' : ''}${leak.providerid}`,
    leak.account,
    leak.cluster ?? '-',
    leak.key,
    leak.kind,
    formatAge(leak.firstSeen, now),
    statusOfLeak(leak, report),
  ]);
  output.line();
  output.table(['MACHINE', 'PROVIDER', 'CLUSTER', 'KEY', 'WHY', 'SEEN FOR', 'NEXT'], rows);
  if (more > 0) output.line(`and ${more} more`);
}
