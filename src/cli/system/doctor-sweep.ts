import type { Client } from '@temporalio/client';
import { HeddleError } from '../../client/errors.js';
import { readLeaks, type LeaksView } from '../../client/leaks.js';
import { cleanLine } from '../clean-text.js';
import { messageOf } from '../report-error.js';
import { formatAge } from '../format.js';
import { fail, ok, warn, type Finding } from './doctor-local.js';

const check = 'sweep';
const leaksCommand = 'heddle leaks';

/** Whether the sweep runs and can read everything, and what it found. */
export async function checkSweep(open: () => Client, now: number): Promise<Finding> {
  try {
    return judgeSweep(await readLeaks(open()), now);
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'NotFound')
      return fail(check, `orphaned machines are not detected: ${messageOf(error)}`, 'heddle worker');
    return warn(check, `could not be checked: ${messageOf(error)}`, 'heddle worker');
  }
}

/** The result of the last pass. */
export function judgeSweep(
  { report, schedule: { paused, everyMs, running } }: LeaksView,
  now: number,
): Finding {
  if (paused !== undefined)
    return warn(
      check,
      `is paused: ${cleanLine(paused)}`,
      'temporal schedule toggle --unpause --schedule-id heddle-sweep',
    );
  if (report === undefined) return ok(check, running ? 'is running its first pass' : 'has not run yet');
  const { at, refused, accounts, deleted } = report;
  const ago = `${formatAge(at, now)} ago`;
  if (now - Date.parse(at) > 3 * everyMs)
    return warn(check, `the last pass ended ${ago}, and the next one is overdue`, 'heddle leaks --sweep');
  if (refused.length > 0)
    return warn(check, `refused to delete ${ago}: ${refused.map(cleanLine).join('; ')}`, leaksCommand);
  const failed = deleted.filter((leak) => leak.failed !== undefined);
  if (failed[0] !== undefined)
    return warn(
      check,
      `could not delete ${failed.length} orphaned machines: ${cleanLine(failed[0].failed ?? '')}`,
      leaksCommand,
    );
  const left = accounts.reduce((sum, { leaks }) => sum + leaks, 0);
  if (left > 0)
    return warn(
      check,
      `${left} ${left === 1 ? 'orphaned machine' : 'orphaned machines'}, as of ${ago}`,
      leaksCommand,
    );
  return ok(check, `no orphaned machines, as of ${ago}`);
}
