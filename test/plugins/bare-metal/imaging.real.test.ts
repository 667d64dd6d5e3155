import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openGround, type Ground } from '../../harness/machine/ground.js';
import { startStack, type Stack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { labIsMissing, openImagingLab, type ImagingLab } from './support/imaging-lab.js';
import { digestOf } from './support/small-system.js';

/** HEDDLE_BOOTS asks for it, as npm run test:real does after the other tests. */
const missing = env['HEDDLE_BOOTS'] === undefined ? 'only when HEDDLE_BOOTS asks for them' : labIsMissing();
/** An emulated processor boots in some seconds, and in minutes where others are busy. */
const patienceMs = 600_000;
const small = { name: 'small', revision: '1' };
const noise = { name: 'noise', revision: '1' };

describe.skipIf(missing !== undefined)(
  `machines that boot a rescue system, on an emulated processor${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let lab: ImagingLab;
    let stack: Stack;
    let ground: Ground;
    let worker: WorkerProcess;
    beforeAll(async () => {
      lab = await openImagingLab(inject('distPath'), [
        { name: 'whole', diskMegabytes: 64 },
        { name: 'narrow', diskMegabytes: 16 },
        { name: 'unplugged', diskMegabytes: 64, unplugged: true },
        { name: 'worn', diskMegabytes: 48 },
        { name: 'stopped', diskMegabytes: 48 },
      ]);
      stack = await startStack({ accounts: lab.accounts, config: { loadsAtOnce: 100 } });
      worker = await stack.startWorker();
      ground = openGround(stack);
    }, patienceMs);
    afterAll(async () => {
      await stack?.stop();
      await lab?.stop();
    }, patienceMs);

    const add = (name: string, provider = 'rack'): Promise<unknown> =>
      ground.add(name, { provider, fields: { machine: name } });
    /** The log of the program that serves a machine, and its process. */
    const runOf = async (
      name: string,
    ): Promise<{ readonly log: string; readonly pid: number } | undefined> => {
      for (const entry of await readdir(stack.folder, { recursive: true })) {
        if (!/\/run-\d+\.json$/.test(entry)) continue;
        const run = JSON.parse(await readFile(join(stack.folder, entry), 'utf8')) as {
          readonly what: string;
          readonly directory: string;
          readonly mark: { readonly pid: number };
        };
        if (!run.what.endsWith(` on ${name}`)) continue;
        return { log: await readFile(join(run.directory, 'log'), 'utf8'), pid: run.mark.pid };
      }
      return undefined;
    };
    const writes = (name: string, part: RegExp = /% written/): Promise<{ readonly pid: number }> =>
      until(
        `the disk of ${name} is written`,
        async () => {
          const run = await runOf(name).catch(() => undefined);
          return run !== undefined && part.test(run.log) && run;
        },
        patienceMs,
      );

    test.concurrent(
      'is loaded though its worker is killed while it writes, and boots from its disk',
      async () => {
        await add('whole');
        const load = await ground.begin('whole', { kind: 'load', image: small });
        const { pid } = await writes('whole');
        const served = new Set([pid]);
        const watch = setInterval(() => {
          runOf('whole').then(
            (run) => run !== undefined && served.add(run.pid),
            () => undefined,
          );
        }, 100);
        await worker.kill();
        worker = await stack.startWorker('worker-2');
        const { operation, machine } = await ground.end('whole', load);
        clearInterval(watch);
        expect(operation.failure).toBeUndefined();
        expect(machine).toMatchObject({ state: 'available', image: small });
        // The machine was off, so its disk could not be marked and is written twice: the first write went on.
        expect(served.size).toBe(2);
        expect((await runOf('whole'))?.log).toContain(`SHA-256 ${digestOf(lab.small)}`);
        const { size } = await stat(lab.small);
        expect(digestOf(lab.diskOf('whole'), size)).toBe(digestOf(lab.small));
        const commands = (await lab.commands('whole')).filter((line) => line !== 'boot network');
        expect(commands).toEqual(['on', 'on', 'off', 'on', 'on']);
        expect(await lab.console('whole')).not.toContain('heddle: ');
      },
      patienceMs,
    );

    test.concurrent(
      'is left alone if its disk is too small for the image',
      async () => {
        await add('narrow');
        const before = digestOf(lab.diskOf('narrow'));
        const { operation } = await ground.operate('narrow', { kind: 'load', image: small });
        expect(operation).toMatchObject({
          answer: 'not done',
          failure: { message: expect.stringMatching(/vda \(16777216 bytes\) is too small/) },
        });
        expect(digestOf(lab.diskOf('narrow'))).toBe(before);
      },
      patienceMs,
    );

    test.concurrent(
      'is left alone if it does not boot from the network',
      async () => {
        await add('unplugged', 'hasty');
        const { operation } = await ground.operate('unplugged', { kind: 'load', image: small });
        expect(operation).toMatchObject({
          answer: 'not done',
          failure: {
            message: expect.stringMatching(/did not boot from the network.*\/boot\/52:54:00:aa:bb:02/),
          },
        });
      },
      patienceMs,
    );

    test.concurrent(
      'begins again after its server was killed, and fails if its disk does not hold what was written',
      async () => {
        await add('worn');
        const load = await ground.begin('worn', { kind: 'load', image: noise });
        const { pid } = await writes('worn');
        process.kill(-pid, 'SIGKILL');
        await until(
          'a second server',
          async () => (await runOf('worn').catch(() => undefined))?.pid !== pid,
          patienceMs,
        );
        await writes('worn', /48 % written/);
        const disk = await open(lab.diskOf('worn'), 'r+');
        await disk.write(Buffer.from('decay'), 0, 5, 100_000);
        await disk.close();
        const { operation, machine } = await ground.end('worn', load);
        expect(operation).toMatchObject({
          answer: 'unknown',
          failure: { message: expect.stringContaining(digestOf(lab.noise)) },
        });
        expect(machine.state).toBe('failed');
        expect(lab.hypervisor.isOn('worn')).toBe(false);
      },
      patienceMs,
    );

    test.concurrent(
      'is off when its load was cancelled while it wrote',
      async () => {
        await add('stopped');
        const load = await ground.begin('stopped', { kind: 'load', image: noise });
        await writes('stopped');
        await stack.client.machines.cancel('stopped');
        const { machine } = await ground.end('stopped', load);
        expect(machine.state).toBe('failed');
        expect(lab.hypervisor.isOn('stopped')).toBe(false);
      },
      patienceMs,
    );
  },
);
