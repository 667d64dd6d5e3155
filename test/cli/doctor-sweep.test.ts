import { describe, expect, it } from 'vitest';
import { judgeSweep } from '../../src/cli/system/doctor-sweep.js';
import type { LeaksView } from '../../src/client/leaks.js';

const now = Date.parse('2026-03-01T12:00:00Z');
const schedule: LeaksView['schedule'] = {
  everyMs: 300_000,
  policy: { delete: true, minimumAgeMs: 600_000, cap: 10 },
  running: false,
};
const report: NonNullable<LeaksView['report']> = {
  reportVersion: 1,
  at: '2026-03-01T11:58:00Z',
  policy: schedule.policy,
  accounts: [{ name: 'lab', machines: 3, leaks: 0 }],
  leaks: [],
  deleted: [],
  refused: [],
};

describe('doctor about the sweep', () => {
  it.each<readonly [string, LeaksView, string, RegExp]>([
    ['nothing is amiss', { report, schedule }, 'ok', /no orphaned machines, as of 2 m 00 s ago/],
    ['it has not run', { schedule }, 'ok', /has not run yet/],
    [
      'machines are left',
      { report: { ...report, accounts: [{ name: 'lab', machines: 3, leaks: 2 }] }, schedule },
      'warn',
      /2 orphaned machines/,
    ],
    [
      'it refused to delete',
      { report: { ...report, refused: ['lab cannot be read:\u001b[31m denied'] }, schedule },
      'warn',
      /refused to delete 2 m 00 s ago: lab cannot be read: denied/,
    ],
    [
      'it failed to delete',
      {
        report: {
          ...report,
          deleted: [{ account: 'lab', providerid: 'm-1', key: 'k', failed: 'no permission' }],
        },
        schedule,
      },
      'warn',
      /could not delete 1 .*no permission/,
    ],
    [
      'it stands still',
      { report, schedule: { ...schedule, paused: 'by hand' } },
      'warn',
      /is paused: by hand/,
    ],
    [
      'it no longer comes to an end',
      { report: { ...report, at: '2026-03-01T11:00:00Z' }, schedule },
      'warn',
      /and the next one is overdue/,
    ],
  ])('%s', (_, view, state, text) => {
    const finding = judgeSweep(view, now);
    expect(finding.state).toBe(state);
    expect(finding.text).toMatch(text);
    expect(finding.next === undefined).toBe(state === 'ok');
  });
});
