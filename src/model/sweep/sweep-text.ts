import { leakId, neededPasses } from './decide.js';
import type { Leak, SweepReport } from '../../schema/output/system.js';

/** Why a leak stays, or when it goes. */
export function statusOfLeak(leak: Leak, { policy, refused, deleted, at }: SweepReport): string {
  const { kind, passes, firstSeen } = leak;
  if (kind === 'unknown') return 'this database has no record of it; deleted only by name';
  if (kind === 'abandoned') return 'abandoned by a user; deleted only by name';
  if (kind === 'captured')
    return 'captured on request, from a machine whose workflow was terminated; deleted only by name';
  if (kind === 'duplicate') return 'the second machine of its key; delete it at the provider';
  if (kind === 'unreadable') return 'its key cannot be read; check it at the provider';
  const failed = deleted.find((deletion) => leakId(deletion) === leakId(leak))?.failed;
  if (failed !== undefined) return `could not be deleted: ${failed}`;
  if (!policy.delete) return 'dry run: deleted only by name';
  if (refused.length > 0) return 'kept until everything can be read';
  if (passes < neededPasses) return 'waits for another observation';
  const ripeAt = Date.parse(firstSeen) + policy.minimumAgeMs;
  return ripeAt > Date.parse(at)
    ? `will be deleted after ${new Date(ripeAt).toISOString()}`
    : 'will be deleted in one of the next sweeps';
}

/** A pass as Markdown, shown by the Web UI beside its workflow. */
export function detailsOfSweep(report: SweepReport): string {
  const { leaks, deleted, refused, silent = [], policy, accounts } = report;
  const gone = deleted.filter(({ failed }) => failed === undefined);
  const machines = accounts.reduce((sum, account) => sum + account.machines, 0);
  return [
    `### Sweep: ${leaks.length} of ${machines} machines have no owner, ${gone.length} deleted${policy.delete ? '' : ' (dry run)'}`,
    ...refused.map((why) => `- refused: ${why}`),
    ...silent.map((why) => `- left alone: ${why}`),
    ...accounts.flatMap(({ name, unable }) =>
      unable === undefined ? [] : [`- not searched: ${name} (${unable})`],
    ),
    ...gone.map(({ account, providerid, key }) => `- deleted: ${account} ${providerid} \`${key}\``),
    ...leaks
      .slice(0, 50)
      .map(
        (leak) =>
          `- ${leak.kind}: ${leak.account} ${leak.what === 'image' ? 'image ' : ''}${leak.providerid} \`${leak.key}\`, since ${leak.firstSeen}; ${statusOfLeak(leak, report)}`,
      ),
  ].join('\n');
}
