import type { Client } from '@temporalio/client';
import { HeddleError } from '../../client/errors.js';
import { readLeaks, type LeaksView } from '../../client/leaks.js';
import { cleanLine } from '../clean-text.js';
import { messageOf } from '../report-error.js';
import { formatAge } from '../format.js';
import { fail, ok, warn, type Finding } from './doctor-local.js';

const check = 'sweep';
const leaksCommand = 'heddle leaks';

/** Does the sweep look, can it read all, and what did it find? */
export async function checkSweep(open: () => Client, now: number): Promise<Finding> {
  try {
    return judgeSweep(await readLeaks(open()), now);
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'NotFound')
      return fail(check, `orphaned machines are not detected: ${messageOf(error)}`, 'heddle worker');
    return warn(check, `could not be looked at: ${messageOf(error)}`, 'heddle worker');
  }
}

/** What a person should know of the last pass. */
export function judgeSweep(
  { report, schedule: { paused, everyMs, running } }: LeaksView,
  now: number,
): Finding {
  if (paused !== undefined)
    return warn(
      check,
      `stands still: ${cleanLine(paused)}`,
      'temporal schedule toggle --unpause --schedule-id heddle-sweep',
    );
  if (report === undefined) return ok(check, running ? 'makes its first pass now' : 'has not looked yet');
  const { at, refused, accounts, deleted } = report;
  const ago = `${formatAge(at, now)} ago`;
  if (now - Date.parse(at) > 3 * everyMs)
    return warn(check, `the last pass ended ${ago}, although there should be more`, 'heddle leaks --sweep');
  if (refused.length > 0)
    return warn(check, `refused to delete ${ago}: ${refused.map(cleanLine).join('; ')}`, leaksCommand);
  const failed = deleted.filter((leak) => leak.failed !== undefined);
  if (failed[0] !== undefined)
    return warn(
      check,
      `could not delete ${failed.length} of what no cluster has: ${cleanLine(failed[0].failed ?? '')}`,
      leaksCommand,
    );
  const left = accounts.reduce((sum, { leaks }) => sum + leaks, 0);
  if (left > 0)
    return warn(
      check,
      `${left} ${left === 1 ? 'orphaned machine' : 'orphaned machines'}, as of ${ago}`,
      leaksCommand,
    );
  return ok(check, `no machine without a cluster, as of ${ago}`);
}
