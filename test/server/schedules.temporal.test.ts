import { beforeAll, describe, expect, it } from 'vitest';
import { checkSweep } from '../../src/cli/system/doctor-sweep.js';
import { readLeaks } from '../../src/client/leaks.js';
import { periodicChecksScheduleId, sweepScheduleId } from '../../src/model/names.js';
import { keepSchedules, restoreSchedules, type ScheduleSettings } from '../../src/server/schedules.js';
import { watchSchedules } from '../../src/worker/watch-schedules.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

const settings: ScheduleSettings = {
  sweep: { every: 3_600, minimumAge: 60, cap: 5, delete: false },
  periodicChecks: { every: 3_600 },
};

describe('the schedules of workers', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });

  it('a deleted schedule is created again, and doctor reports it as a failure', async () => {
    const { temporal } = stack.client;
    const examined = () => checkSweep(() => temporal, Date.now());
    expect(await keepSchedules(temporal, settings)).toEqual([]);
    expect(await examined()).toMatchObject({ state: 'ok' });
    for (const id of [sweepScheduleId, periodicChecksScheduleId])
      await temporal.schedule.getHandle(id).delete();
    expect(await examined()).toMatchObject({ state: 'fail', next: 'heddle worker' });

    const warnings: string[] = [];
    const stop = watchSchedules(temporal, settings, { warn: (text: string) => warnings.push(text) }, 100);
    await until('both exist', async () => warnings.length === 2);
    stop();
    expect(warnings).toEqual(
      [sweepScheduleId, periodicChecksScheduleId].map(
        (id) => `the schedule ${id} was deleted, and is created again`,
      ),
    );
    expect(await examined()).toMatchObject({ state: 'ok' });
  });

  it('stay as another worker has set them, paused or with its policy', async () => {
    const { temporal } = stack.client;
    const other = { ...settings, sweep: { ...settings.sweep, cap: 7 } };
    expect(await keepSchedules(temporal, other)).toEqual([]);
    await temporal.schedule.getHandle(sweepScheduleId).pause('by hand');
    expect(await restoreSchedules(temporal, settings)).toEqual([]);
    expect((await readLeaks(temporal)).schedule).toMatchObject({ paused: 'by hand', policy: { cap: 7 } });
  });
});
