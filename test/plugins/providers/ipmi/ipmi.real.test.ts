import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { machineMessages } from '../../../../src/workflows/messages.js';
import { join } from 'node:path';
import { heddleOn, startHeddle } from '../../../harness/cli/run-heddle.js';
import { until } from '../../../harness/until.js';
import { type Stack, startStack } from '../../../harness/stack.js';
import { buildRack, noEmulators, type Rack } from '../../../harness/bmc/racks.js';
import type { BootDevice } from '../../../../src/model/machine/boot.js';
import { type Ground, host, openGround } from '../../../harness/machine/ground.js';

describe.skipIf(noEmulators !== undefined)(
  `real machines by IPMI${noEmulators === undefined ? '' : ` (left out: ${noEmulators})`}`,
  () => {
    let stack: Stack;
    let rack: Rack;
    let ground: Ground;
    const { run } = heddleOn(() => stack);

    beforeAll(async () => {
      const accounts: Record<string, object | 'service'> = {};
      stack = await startStack({ accounts });
      rack = await buildRack(
        stack.service,
        stack.folder,
        ['plain', 'nocycle', 'deaf', 'hung', 'misread', 'bare', 'spare'],
        { shutDownSeconds: 2 },
      );
      // As many calls as ever: a limit that nobody kept would be refused at the start of the worker.
      accounts['rack'] = { type: 'ipmi', fields: rack.fields, limits: { callsPerSecond: 1_000 } };
      const controllers = Object.entries((rack.fields as { readonly controllers: object }).controllers);
      accounts['wrong'] = {
        type: 'ipmi',
        fields: {
          ...rack.fields,
          controllers: Object.fromEntries(
            controllers.map(([name, bmc]) => [name, { ...(bmc as object), password: 'wrong' }]),
          ),
        },
      };
      await stack.startWorker();
      ground = openGround(stack);
      await Promise.all(
        ['plain', 'nocycle', 'deaf', 'hung', 'misread', 'bare'].map((name) =>
          ground.add(name, { provider: 'rack', fields: { machine: name } }),
        ),
      );
    });
    afterAll(async () => {
      await rack.stop();
      await stack.stop();
    });

    const power = async (name: string, verb: 'on' | 'off' | 'reset' | 'status') =>
      (await ground.operate(name, { kind: 'power', verb })).operation;

    it('a machine is registered with its hardware; a controller without an inventory is not an obstacle', async () => {
      const { hardware } = await stack.client.machines.show('plain');
      expect(hardware).toMatchObject({ manufacturer: 'Contoso', model: 'Blade 9000', serial: 'SN-plain' });
      const { machine, operation } = await ground.operate('bare', { kind: 'retry' });
      expect(operation).toMatchObject({ state: 'done', answer: 'done' });
      expect(machine.state).toBe('available');
      expect(Object.keys(machine.hardware ?? {})).toEqual(['at']);
    });

    it('power commands are sent only if needed, and end when the reading confirms them', async () => {
      expect((await power('plain', 'status')).result?.power).toEqual({ power: 'on' });
      expect(await power('plain', 'on')).toMatchObject({ answer: 'done' });
      expect(await rack.commands('plain')).toEqual([]);
      expect(await power('plain', 'off')).toMatchObject({ answer: 'done' });
      expect(await power('plain', 'off')).toMatchObject({ answer: 'done' });
      expect((await power('plain', 'status')).result?.power).toEqual({ power: 'off' });
      // A machine that is off is switched on by a reset.
      expect(await power('plain', 'reset')).toMatchObject({ answer: 'done' });
      expect(await power('plain', 'reset')).toMatchObject({ answer: 'done' });
      expect(await rack.commands('plain')).toEqual(['soft', 'on', 'cycle']);
    });

    it('a controller without power cycle gets off and on; a system that does not shut down is cut off', async () => {
      expect(await power('nocycle', 'reset')).toMatchObject({ answer: 'done' });
      expect(await rack.commands('nocycle')).toEqual(['cycle', 'off', 'on']);
      expect(await power('deaf', 'off')).toMatchObject({ answer: 'done' });
      expect(await rack.commands('deaf')).toEqual(['soft', 'off']);
      expect(await power('deaf', 'on')).toMatchObject({ answer: 'done' });
    });

    it('the next boot is set at the controller, and the power stays as it is', async () => {
      const boot = async (device: BootDevice) =>
        (await ground.operate('nocycle', { kind: 'boot', device })).operation;
      const before = await rack.commands('nocycle');
      expect(await boot('pxe')).toMatchObject({ answer: 'done' });
      expect((await ground.operate('nocycle', { kind: 'status' })).operation.result?.status).toMatchObject({
        nodeset: 'image',
      });
      expect(await boot('cdrom')).toMatchObject({ answer: 'done' });
      expect(await boot('disk')).toMatchObject({ answer: 'done' });
      expect(await boot('bios')).toMatchObject({ answer: 'done' });
      expect((await rack.commands('nocycle')).slice(before.length)).toEqual([
        'boot network',
        'boot optical',
        'boot hd',
        'boot setup',
      ]);
      await expect(ground.operate('nocycle', { kind: 'boot', device: 'tape' as never })).rejects.toThrow(
        /pxe, disk, cdrom, bios/,
      );
    });

    it('the serial console of a machine is opened, and ended by ~.', async () => {
      const console = startHeddle(['machine', 'console', 'plain'], {
        distPath: inject('distPath'),
        cwd: stack.folder,
        terminal: true,
        env: {
          TERM: 'xterm',
          HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
          TEMPORAL_ADDRESS: inject('temporalAddress'),
          TEMPORAL_NAMESPACE: stack.namespace,
        },
      });
      const shows = (text: string): Promise<unknown> =>
        until(
          `the console shows ${text}: ${console.stdout()}`,
          () => console.stdout().includes(text),
          60_000,
        );
      await shows('SOL Session operational');
      console.child.stdin?.write('x');
      await shows('<plain reads x>');
      console.child.stdin?.write('\r~.');
      await console.ended;
      expect(console.stdout()).not.toContain('secret');
      expect(await run('machine', 'console', 'nobody')).toMatchObject({ code: 4 });
    });

    it('an image is loaded and captured, with each switch logged once at the controller', async () => {
      const load = await ground.operate('plain', { kind: 'load', image: host });
      expect(load.operation.failure).toBeUndefined();
      expect(load.machine).toMatchObject({ state: 'available', image: host });
      const before = await rack.commands('plain');
      expect(before.slice(-3)).toEqual(['soft', 'boot network', 'on']);
      const image = { name: 'plain-work', revision: '2' };
      const capture = await ground.operate('plain', { kind: 'capture', image, prove: true });
      expect(capture.operation.failure).toBeUndefined();
      expect(capture.operation.result).toMatchObject({ image, sizeMb: 1 });
      // It is on in between, so that its disk is marked before the proof.
      const after = ['soft', 'on', 'soft', 'boot network', 'on'];
      expect((await rack.commands('plain')).slice(before.length)).toEqual(after);
    });

    it('controllers that hang do not cause a load of a machine that answers', async () => {
      await ground.operate('hung', { kind: 'load', image: host });
      const before = await rack.commands('hung');
      rack.controllers.kill('SIGSTOP');
      expect(await run('machine', 'power', 'hung', 'status')).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/power: unknown.*Unable to establish/s),
      });
      const status = await ground.operate('hung', { kind: 'status' });
      expect(status.operation.result?.status).toMatchObject({ status: 'READY', rpower: null, ssh: 1 });
      expect(status.operation.result?.status?.evidence.notes.join(' ')).toContain('Unable to establish');
      expect((await ground.operate('hung', { kind: 'load', image: host })).operation.result).toMatchObject({
        did: 'nothing',
      });
      // Now nothing answers at all.
      const { id } = (await stack.service.machines()).find(({ hostname }) => hostname === 'machine-hung') as {
        readonly id: string;
      };
      await stack.service.call('POST', `/v1/machines/${id}/power`, { power: 'off' });
      const silent = await ground.operate('hung', { kind: 'load', image: host });
      expect(silent.operation).toMatchObject({
        state: 'failed',
        answer: 'unknown',
        failure: { action: 'NODE_STATUS' },
      });
      expect(silent.machine.state).toBe('available');
      rack.controllers.kill('SIGCONT');
      // The controller says that it is off: that is certain.
      expect((await ground.operate('hung', { kind: 'status' })).operation.result?.status).toMatchObject({
        status: 'RELOAD',
        rpower: 0,
        ssh: 0,
      });
      expect(await rack.commands('hung')).toEqual(before);
    });

    it('a machine that is reported as off and answers is unknown, and not written even by force', async () => {
      expect((await ground.operate('misread', { kind: 'status' })).operation.result?.status).toMatchObject({
        status: 'UNKNOWN',
        rpower: 0,
        ssh: 1,
      });
      const load = { kind: 'load', image: host, withinMs: 8_000 } as const;
      expect((await ground.operate('misread', load)).operation).toMatchObject({ answer: 'unknown' });
      const { operation, machine } = await ground.operate('misread', { ...load, force: true });
      expect(operation).toMatchObject({ answer: 'unknown', failure: { action: 'POWER_OFF' } });
      expect(machine.state).toBe('available');
      expect(await ground.calls('load', 'misread')).toEqual([]);
    });

    it('a machine that is off, and does not answer, is registered; a wrong password fails with its cause', async () => {
      const { machines } = stack.client;
      const registration = { provider: 'rack', flavor: 'tiny', image: 'host', fields: { machine: 'spare' } };
      const { id } = (await stack.service.machines()).find(
        ({ hostname }) => hostname === 'machine-spare',
      ) as { readonly id: string };
      await stack.service.call('POST', `/v1/machines/${id}/power`, { power: 'off' });
      const enrolled = await machines.add('spare', { ...registration, system: 'linux' });
      const { operation, machine } = await ground.end('spare', enrolled.operation);
      expect(operation).toMatchObject({ state: 'done', notes: [expect.stringContaining('switched off')] });
      expect(machine).toMatchObject({ state: 'available', power: 'off' });
      const loaded = await ground.operate('spare', { kind: 'load', image: host });
      expect(loaded.machine).toMatchObject({ state: 'available', image: host });
      expect(loaded.machine.power).toBe('on');
      await ground.operate('spare', { kind: 'remove' });

      const refused = await machines.add('locked', { ...registration, provider: 'wrong', system: 'linux' });
      const failed = await ground.end('locked', refused.operation);
      expect(failed.machine.state).toBe('failed');
      expect(failed.machine.why).toMatch(/RAKP 2 HMAC is invalid.*heddle machine retry locked/);
      expect(failed.operation).toMatchObject({ state: 'failed', failure: { action: 'ENROL', kind: 'Auth' } });

      // Controllers lock accounts, so periodic checks do not log in again.
      const workflow = stack.client.temporal.workflow.getHandle('machine/locked');
      await workflow.signal(machineMessages.signals.check);
      expect((await machines.show('locked')).checkedAt).toBeUndefined();
      const { events } = await workflow.fetchHistory();
      const tasks = (events ?? []).map(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name,
      );
      expect(tasks.filter((name) => name !== undefined)).toEqual([
        'FIND_START',
        'DESCRIBE_ACCOUNT',
        'CREATE',
        'ENROL',
      ]);
    });

    it('a registration that failed is completed by a retry, once its cause is gone', async () => {
      const registration = { provider: 'rack', flavor: 'tiny', image: 'host', fields: { machine: 'spare' } };
      rack.controllers.kill('SIGSTOP');
      const { operation } = await stack.client.machines.add('late', { ...registration, system: 'linux' });
      const failed = await ground.end('late', operation);
      expect(failed.machine).toMatchObject({
        state: 'failed',
        why: expect.stringMatching(/Unable to establish.*heddle machine retry late/),
      });
      const again = await ground.operate('late', { kind: 'retry' });
      expect(again).toMatchObject({ operation: { state: 'failed' }, machine: { state: 'failed' } });
      rack.controllers.kill('SIGCONT');
      const { operation: retried, machine } = await ground.operate('late', { kind: 'retry' });
      expect(retried).toMatchObject({ state: 'done', answer: 'done' });
      expect(machine).toMatchObject({ state: 'available', power: 'on' });
      expect(machine.why).toBeUndefined();
      expect(machine.hardware).toMatchObject({ model: 'Blade 9000', serial: 'SN-spare' });
      // A complete registration has nothing to complete, so its hardware is read again.
      const before = machine.hardware?.at ?? '';
      const read = await ground.operate('late', { kind: 'retry' });
      expect(read.operation).toMatchObject({ state: 'done', answer: 'done' });
      expect((read.machine.hardware?.at ?? '') > before).toBe(true);
    });
  },
);
