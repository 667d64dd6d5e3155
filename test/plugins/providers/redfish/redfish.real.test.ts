import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PowerDriver } from '../../../../src/plugins/bare-metal/index.js';
import {
  controllerSchema,
  RedfishHttp,
  type Controller,
} from '../../../../src/plugins/providers/redfish/http.js';
import { powerDriverOf } from '../../../../src/plugins/providers/redfish/redfish.js';
import { RedfishSystem } from '../../../../src/plugins/providers/redfish/system.js';
import { CountedCalls } from '../../../../src/testing/attempt.js';
import { noRedfish, type RedfishService, startRedfish } from '../../../harness/bmc/redfish.js';
import { until } from '../../../harness/until.js';

describe.skipIf(noRedfish !== undefined)(
  `a Redfish controller that switches seconds after its answer${noRedfish === undefined ? '' : ` (left out: ${noRedfish})`}`,
  () => {
    let service: RedfishService;
    const signal = new AbortController().signal;
    const calls = new CountedCalls();

    beforeAll(async () => {
      service = await startRedfish([
        { name: 'idle', power: 'Off' },
        {
          name: 'busy',
          power: 'On',
          macs: ['AA:BB:CC:00:00:01', 'aa:bb:cc:00:00:02'],
          disks: ['sda', 'sdb'],
        },
        { name: 'cycled', power: 'On' },
      ]);
    });
    afterAll(async () => {
      await service.stop();
    });

    const controllerOf = (part: Partial<Controller> = {}): Controller =>
      controllerSchema.parse({
        url: service.url,
        ca: service.ca,
        user: 'admin',
        password: 'secret',
        ...part,
      });
    const systemOf = (part: Partial<Controller>): RedfishSystem => {
      const controller = controllerOf(part);
      // Who distrusts the certificate hangs up before anything is asked.
      return new RedfishSystem(
        new RedfishHttp(controller, signal, controller.ca === undefined ? new CountedCalls() : calls),
        controller,
        signal,
      );
    };
    const driverOf = (system: string): PowerDriver =>
      powerDriverOf(
        systemOf({ system }),
        { settleMs: 30_000, shutDownMs: 20_000, everyMs: 250, readings: 2 },
        signal,
      );

    it.concurrent('switches on, and ends when the reading confirms it; a repetition sends nothing', async () => {
      const driver = driverOf('idle');
      expect(await driver.status()).toEqual({ power: 'off' });
      expect(await driver.on()).toEqual({ answer: 'done' });
      expect(await systemOf({ system: 'idle' }).power()).toEqual({ power: 'on' });
      expect(await driver.on()).toEqual({ answer: 'done' });
    });

    it.concurrent('shuts down gently', async () => {
      expect(await driverOf('busy').off()).toEqual({ answer: 'done' });
      expect(await systemOf({ system: 'busy' }).power()).toEqual({ power: 'off' });
    });

    it.concurrent('resets by the type that the controller permits, and names an unsupported one', async () => {
      expect(await driverOf('cycled').reset()).toEqual({ answer: 'done' });
      expect(await systemOf({ system: 'cycled' }).reset(['PowerCycle'])).toMatchObject({
        accepted: false,
        why: expect.stringContaining('allows none of PowerCycle, only On'),
      });
    });

    it.concurrent('sets the next boot device, also by the name that leads to the system', async () => {
      const system = systemOf({ system: 'cycled' });
      expect(await system.setBoot('Pxe', 'Once')).toEqual({ answer: 'done' });
      expect(await system.bootTarget()).toBe('pxe');
      expect(await system.setBoot('Hdd', 'Continuous')).toEqual({ answer: 'done' });
      expect(await system.bootTarget()).toBe('hdd');
    });

    it.concurrent('boots once from a CD; a source that the controller does not allow is refused', async () => {
      const system = systemOf({ system: 'idle' });
      expect(await system.setBoot('Cd', 'Once')).toEqual({ answer: 'done' });
      expect(await system.bootTarget()).toBe('cd');
      expect(await system.setBoot('BiosSetup', 'Once')).toMatchObject({
        answer: 'not done',
        why: expect.stringContaining('BiosSetup, only from'),
      });
      expect(await system.bootTarget()).toBe('cd');
    });

    it.concurrent('describes the hardware; what the controller does not know is absent', async () => {
      const drive = { model: 'C123', serial: '1234570', bytes: 1e12, media: 'HDD' };
      expect(await systemOf({ system: 'busy' }).hardware()).toEqual({
        manufacturer: 'Sushy Emulator',
        disks: [
          { name: 'sda', ...drive },
          { name: 'sdb', ...drive },
        ],
        interfaces: [
          { name: 'VNIC AA:BB:CC:00:00:01', mac: 'aa:bb:cc:00:00:01' },
          { name: 'VNIC aa:bb:cc:00:00:02', mac: 'aa:bb:cc:00:00:02' },
        ],
      });
      expect(await systemOf({ system: 'idle' }).hardware()).toEqual({ manufacturer: 'Sushy Emulator' });
    });

    it.concurrent.each<readonly [what: string, Partial<Controller>, kind: string, words: string]>([
      ['a wrong password', { password: 'wrong' }, 'Auth', 'check user and password'],
      ['an unknown system', { system: 'none' }, 'Invalid', 'does not exist at the controller'],
      ['several systems and none named', {}, 'Invalid', 'has 3 systems; set one'],
      [
        'a certificate of an unknown authority',
        { ca: undefined as never, system: 'idle' },
        'Retryable',
        'got no answer',
      ],
    ])('%s is told for what it is', async (_, part, kind, words) => {
      await expect(systemOf(part).power()).rejects.toMatchObject({
        kind,
        message: expect.stringContaining(words),
      });
    });

    it.concurrent('accepts any certificate if that was requested', async () => {
      const controller = controllerSchema.parse({
        url: service.url,
        user: 'admin',
        password: 'secret',
        system: 'idle',
        insecure: true,
      });
      expect(
        (await new RedfishSystem(new RedfishHttp(controller, signal, calls), controller, signal).power())
          .power,
      ).toMatch(/on|off/);
    });

    it('waits for a permit before each request, redirected ones included', async () => {
      await until(
        'the emulator to have written down what it was asked',
        () => service.requests() >= calls.taken,
      );
      expect([calls.taken > 20, service.requests()]).toEqual([true, calls.taken]);
    });
  },
);
