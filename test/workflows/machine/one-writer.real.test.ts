import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runsOf, claimsWorkflowId } from '../../../src/model/names.js';
import { buildRack, noEmulators, type Rack } from '../../harness/bmc/racks.js';
import { settingOf } from '../../harness/chaos/random.js';
import { heddleOn } from '../../harness/cli/run-heddle.js';
import { type Ground, openGround } from '../../harness/machine/ground.js';
import { type Stack, startStack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';

const names = ['m1', 'm2', 'm3', 'm4', 'm5'];
/**
 * Deaths of the worker during one load, and during one capture, of every machine: together 40 cut attempts.
 */
const deaths = settingOf('HEDDLE_DEATHS', 4);
const started = temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;
const web = { name: 'web', revision: '1' };

describe.skipIf(noEmulators !== undefined)(
  `programs that write or read the disks of machines, while workers are killed${noEmulators === undefined ? '' : ` (left out: ${noEmulators})`}`,
  () => {
    let stack: Stack;
    let rack: Rack;
    let ground: Ground;
    let worker: WorkerProcess;
    let disks: string;
    let workers = 0;
    const { run } = heddleOn(() => stack);

    beforeAll(async () => {
      const accounts: Record<string, object | 'service'> = {};
      stack = await startStack({ accounts, config: { loadsAtOnce: 100 } });
      disks = join(stack.folder, 'disks');
      await mkdir(disks);
      await writeFile(join(disks, 'web@1'), '');
      const imager = (what: string): readonly string[] => [
        execPath,
        join(import.meta.dirname, '../../harness/bmc/slow-imager.mjs'),
        disks,
        join(stack.folder, 'bmc.log'),
        what,
        '{machine}',
        '{providerImage}',
        '{token}',
      ];
      const programs = ['exists', 'size', 'load', 'capture'].map((what) => [what, imager(what)] as const);
      rack = await buildRack(stack.service, stack.folder, names, { imager: Object.fromEntries(programs) });
      accounts['rack'] = { type: 'ipmi', fields: rack.fields };
      worker = await stack.startWorker();
      ground = openGround(stack);
      await Promise.all(
        names.map((name) => ground.add(name, { provider: 'rack', fields: { machine: name } })),
      );
    });
    afterAll(async () => {
      await rm(join(disks, 'hold'), { force: true });
      await rack.stop();
      await stack.stop();
    });

    /** Each worker has a data folder of its own. */
    function nextWorker(): Promise<WorkerProcess> {
      workers += 1;
      return stack.startWorker(`worker-${workers}`);
    }

    const hold = (): Promise<void> => writeFile(join(disks, 'hold'), '');
    const letGo = (): Promise<void> => rm(join(disks, 'hold'));
    /** Commands of the controller and lines of the imager, in their order, without what it boots next. */
    const logOf = async (name: string): Promise<readonly string[]> =>
      (await rack.commands(name)).filter((line) => !line.startsWith('boot'));
    const begins = (name: string, what: string): Promise<unknown> =>
      until(`the ${what} of ${name} begins`, async () => (await logOf(name)).at(-1) === `${what} begins`);

    async function killWhile(what: 'load' | 'capture'): Promise<void> {
      await Promise.all(names.map((name) => begins(name, what)));
      for (let death = 1; death <= deaths; death += 1) {
        await worker.kill();
        worker = await nextWorker();
        await Promise.all(names.map((name) => isAttempted(name, death + 1)));
      }
      await letGo();
    }

    type Activity = temporal.api.workflow.v1.IPendingActivityInfo;
    const untilTask = (what: string, name: string, is: (activity: Activity) => boolean): Promise<unknown> =>
      until(
        `${what} on ${name}`,
        async () => {
          const { raw } = await stack.client.temporal.workflow.getHandle(`machine/${name}`).describe();
          return (raw.pendingActivities ?? []).some(is);
        },
        60_000,
      );
    /** An attempt is under way: one that is only due would be carried out by the worker that comes next. */
    const isAttempted = (name: string, number: number): Promise<unknown> =>
      untilTask(
        `attempt ${number}`,
        name,
        ({ attempt, state }) => state === started && (attempt ?? 1) >= number,
      );

    it('write a disk once for each load, and no power command comes in between, whatever dies', async () => {
      await hold();
      const loads = await Promise.all(names.map((name) => ground.begin(name, { kind: 'load', image: web })));
      await killWhile('load');
      for (const [index, name] of names.entries()) {
        const { operation, machine } = await ground.end(name, loads[index] ?? '');
        expect(operation.failure, name).toBeUndefined();
        expect(machine, name).toMatchObject({ state: 'available', image: web });
        expect(await logOf(name), name).toEqual(['off', 'load begins', 'load ends', 'on']);
        const written = (await readFile(join(disks, `disk-of-${name}`), 'utf8')).trim().split('\n');
        expect(new Set(written).size, name).toBe(1);
      }
    }, 600_000);

    it('read a disk once for each capture, and no power command comes in between, whatever dies', async () => {
      await hold();
      const before = (await logOf('m1')).length;
      const captures = await Promise.all(
        names.map((name) =>
          ground.begin(name, { kind: 'capture', image: { name: `of-${name}`, revision: '1' }, prove: false }),
        ),
      );
      await killWhile('capture');
      for (const [index, name] of names.entries()) {
        const { operation } = await ground.end(name, captures[index] ?? '');
        expect(operation.failure, name).toBeUndefined();
        const lines = (await logOf(name)).slice(before);
        expect(lines, name).toEqual(['off', 'capture begins', 'capture ends', 'on']);
        await ground.operate(name, { kind: 'restore' });
      }
    }, 600_000);

    it('a cancellation ends the program before anything else is done, although the worker of its attempt is dead', async () => {
      await hold();
      const load = await ground.begin('m1', { kind: 'load', image: web, force: true });
      await begins('m1', 'load');
      await worker.kill();
      worker = await nextWorker();
      await stack.client.machines.cancel('m1');
      const { operation, machine } = await ground.end('m1', load);
      expect(operation.notes.join(' ')).not.toContain('may still run');
      expect(machine.state).toBe('failed');
      const disk = (): Promise<string> => readFile(join(disks, 'disk-of-m1'), 'utf8');
      const left = await disk();
      await ground.operate('m1', { kind: 'power', verb: 'reset' });
      expect(await disk()).toBe(left);
      await letGo();
      expect((await ground.operate('m1', { kind: 'load', image: web })).machine.state).toBe('available');
      expect((await logOf('m1')).filter((line) => line === 'load ends')).toHaveLength(2);
    });

    it.each([
      ['m2', {}],
      ['m3', { rescue: true }],
    ])(
      'hold every power command while they may run on another host, until a person confirms their end: %s %j',
      async (name, more) => {
        const what = `load of web@1 on ${name}`;
        const writer = { host: 'elsewhere', folder: '/nowhere', what, run: 'x', ...more };
        const claims = stack.client.temporal.workflow.getHandle(claimsWorkflowId(runsOf('rack')));
        const [taken] = await claims.executeUpdate<(string | null)[], [object]>('claim', {
          args: [
            { take: [{ key: JSON.stringify(writer), candidates: 0 }], candidates: [[name]], release: [] },
          ],
        });
        expect(taken).toBe(name);
        const before = await logOf(name);
        const off = await ground.begin(name, { kind: 'power', verb: 'off' });
        await untilTask('a failed attempt', name, ({ lastFailure }) => lastFailure != null);
        expect(await logOf(name)).toEqual(before);
        await expect(stack.client.machines.confirmEnded(name, 'other')).rejects.toThrow(/elsewhere/);
        const shown = (await run('machine', 'show', name)).stdout.replaceAll(/\s+/g, ' ');
        expect(shown).toContain(`heddle machine confirm-ended ${name} --host elsewhere`);
        // The machine itself may write, too.
        expect(shown.includes('is off, confirm it')).toBe('rescue' in more);
        const confirmed = await run(
          'machine',
          'confirm-ended',
          name,
          '--host',
          'elsewhere',
          '--yes',
          '--json',
        );
        expect(JSON.parse(confirmed.stdout)).toMatchObject({ machine: name, what });
        expect((await ground.end(name, off)).operation.answer).toBe('done');
        expect((await logOf(name)).slice(before.length)).toEqual(['off']);
        await expect(stack.client.machines.confirmEnded(name, 'elsewhere')).rejects.toThrow(/no program/);
      },
    );
  },
);
