import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildRack, noEmulators, type Rack } from '../../../harness/bmc/racks.js';
import { startUdpProxy, type UdpProxy } from '../../../harness/bmc/udp-proxy.js';
import { type Ground, host, openGround } from '../../../harness/machine/ground.js';
import { type Stack, startStack } from '../../../harness/stack.js';

interface Controller {
  readonly host: string;
  readonly port: number;
}

describe.skipIf(noEmulators !== undefined)(
  `logins at controllers${noEmulators === undefined ? '' : ` (left out: ${noEmulators})`}`,
  () => {
    let stack: Stack;
    let rack: Rack;
    let ground: Ground;
    const proxies: Record<string, UdpProxy> = {};
    const proxy = (name: string): UdpProxy => {
      const found = proxies[name];
      if (found === undefined) throw new Error(`there is no ${name}`);
      return found;
    };

    beforeAll(async () => {
      const accounts: Record<string, object | 'service'> = {};
      stack = await startStack({ accounts });
      rack = await buildRack(stack.service, stack.folder, ['locked', 'late']);
      const password = join(stack.folder, 'password');
      await writeFile(password, 'secret', { mode: 0o600 });
      const { controllers, ...fields } = rack.fields as {
        readonly controllers: Readonly<Record<string, Controller>>;
      };
      const behind: Record<string, object> = {};
      for (const [name, controller] of Object.entries(controllers)) {
        proxies[name] = await startUdpProxy(controller.port);
        behind[name] = {
          ...controller,
          port: proxy(name).port,
          password: name === 'locked' ? { secret: `file:${password}` } : 'secret',
          timeoutSeconds: 1,
        };
      }
      accounts['rack'] = { type: 'ipmi', fields: { ...fields, controllers: behind } };
      await stack.startWorker();
      ground = openGround(stack);
      await Promise.all(
        ['locked', 'late'].map((name) => ground.add(name, { provider: 'rack', fields: { machine: name } })),
      );
    });
    afterAll(async () => {
      for (const one of Object.values(proxies)) one.close();
      await rack.stop();
      await stack.stop();
    });

    it.concurrent('stop after three refusals, and a load that changed nothing has nothing to undo', async () => {
      await writeFile(join(stack.folder, 'password'), 'wrong');
      const before = proxy('locked').logins();
      const load = { kind: 'load', image: host, force: true } as const;
      const { operation, machine } = await ground.operate('locked', load);
      expect(operation).toMatchObject({
        state: 'failed',
        answer: 'not done',
        failure: {
          action: 'POWER_OFF',
          kind: 'Auth',
          message: expect.stringMatching(/rejected the login 3 times/),
        },
      });
      expect(machine.state).toBe('available');
      expect(proxy('locked').logins() - before).toBe(3);

      // Whatever is asked next, the controller is left in peace for a while.
      const boot = await ground.operate('locked', { kind: 'boot', device: 'pxe' });
      expect(boot.operation.failure?.message).toMatch(/not retried before/);
      const status = await ground.operate('locked', { kind: 'status' });
      expect(status.operation.result?.status).toMatchObject({ rpower: null });
      expect(proxy('locked').logins() - before).toBe(3);

      await writeFile(join(stack.folder, 'password'), 'secret');
      const power = await ground.operate('locked', { kind: 'power', verb: 'status' });
      expect(power.operation.result?.power).toEqual({ power: 'on' });
    });

    it.concurrent('wait longer for a controller that answers late, which ipmitool takes for a wrong password', async () => {
      proxy('late').delay(1_200);
      const { operation } = await ground.operate('late', { kind: 'boot', device: 'pxe' });
      expect(operation.failure).toBeUndefined();
      expect(await rack.commands('late')).toEqual(['boot network']);
    });
  },
);
