import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { socketFolder } from '../../../src/plugins/bare-metal/imaging/gateway.js';
import { buildRack, noEmulators, type Rack } from '../../harness/bmc/racks.js';
import { freePort } from '../../harness/free-port.js';
import { openGround, type Ground } from '../../harness/machine/ground.js';
import { startStack, type Stack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';

const names = ['loaded', 'cancelled', 'silent', 'nameless', 'listed'];
const web = { name: 'web', revision: '1' };
const content = randomBytes(2 ** 20);
const sha256 = createHash('sha256').update(content).digest('hex');
const macOf = (name: string): string => `52:54:00:00:00:0${names.indexOf(name)}`;

/** What a rescue system asks the server for. test/plugins/bare-metal/imaging.real.test.ts boots one. */
describe.skipIf(noEmulators !== undefined)(
  `loads that serve a rescue system, with real controllers${noEmulators === undefined ? '' : ` (left out: ${noEmulators})`}`,
  () => {
    let stack: Stack;
    let rack: Rack;
    let ground: Ground;
    let worker: WorkerProcess;
    let port: number;
    beforeAll(async () => {
      const accounts: Record<string, object | 'service'> = {};
      stack = await startStack({ accounts, config: { loadsAtOnce: 100 } });
      const [images, rescue] = [join(stack.folder, 'images'), join(stack.folder, 'rescue')];
      await mkdir(images);
      await mkdir(rescue);
      await writeFile(join(images, 'web@1.raw.gz'), gzipSync(content));
      await writeFile(join(images, 'cut@1.raw.gz'), gzipSync(content).subarray(0, 1_000));
      for (const file of ['kernel', 'initramfs']) await writeFile(join(rescue, file), file);
      port = await freePort();
      rack = await buildRack(stack.service, stack.folder, names);
      const {
        machines,
        imager: _otherImager,
        controllers,
        ...fields
      } = rack.fields as {
        readonly machines: readonly { readonly name: string; readonly password: string }[];
        readonly imager: object;
        readonly controllers: Readonly<Record<string, { readonly password: string }>>;
      };
      const account = (more: object, bootMinutes = 5): object => ({
        type: 'ipmi',
        fields: {
          ...fields,
          controllers,
          machines: machines.map((machine) =>
            machine.name === 'nameless' ? machine : { ...machine, mac: macOf(machine.name) },
          ),
          imaging: { images, rescue, listen: `127.0.0.1:${port}`, bootMinutes },
          ...more,
        },
      });
      accounts['rack'] = account({});
      accounts['hasty'] = account({}, 0.1);
      const secretFile = async (name: string, secret = ''): Promise<object> => {
        await writeFile(join(stack.folder, name), secret, { mode: 0o600 });
        return { secret: `file:${join(stack.folder, name)}` };
      };
      const machine = machines.find(({ name }) => name === 'listed');
      const listed = {
        ...machine,
        mac: macOf('listed'),
        password: await secretFile('password', machine?.password),
        controller: {
          ...controllers['listed'],
          password: await secretFile('bmc-password', controllers['listed']?.password),
        },
      };
      const inventory = join(stack.folder, 'inventory.json');
      await writeFile(inventory, JSON.stringify({ machines: [listed] }), { mode: 0o600 });
      accounts['listed'] = account({ inventory, machines: undefined, controllers: undefined }, 0.4);
      worker = await stack.startWorker();
      ground = openGround(stack);
    });
    afterAll(async () => {
      await rack?.stop();
      await stack?.stop();
      await rm(await socketFolder(port), { recursive: true });
    });

    const add = (name: string, provider = 'rack'): Promise<unknown> =>
      ground.add(name, { provider, fields: { machine: name } });
    const load = (name: string): Promise<string> =>
      ground.begin(name, { kind: 'load', image: web, force: true });
    const ask = async (url: string, body?: string): Promise<Buffer> => {
      const answer = await fetch(url, body === undefined ? {} : { method: 'POST', body });
      if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
      return Buffer.from(await answer.arrayBuffer());
    };
    /** Boots once it is switched on; gives the address for its reports. */
    const boot = async (name: string): Promise<string> => {
      await switchedOn(name);
      const script = await until('the boot script', () =>
        ask(`http://127.0.0.1:${port}/boot/${macOf(name)}`).catch(() => false as const),
      );
      const url = /heddle\.url=(\S+)\/script/.exec(script.toString())?.[1] ?? '';
      await ask(`${url}/script`);
      expect((await ask(`${url}/disks`, `sda ${content.length} 0 0 - -`)).toString()).toMatch(/^write sda/);
      return url;
    };
    /** What the rescue system does at its end: the disk has nothing of the old system any more. */
    const switchOff = async (name: string): Promise<void> => {
      const machines = await stack.service.machines();
      const id = machines.find(({ hostname }) => hostname === `machine-${name}`)?.['id'] as string;
      await stack.service.call('POST', `/v1/machines/${id}/power`, { power: 'off' });
    };
    const logOf = async (name: string): Promise<readonly string[]> =>
      (await rack.commands(name)).filter((line) => !line.startsWith('boot'));
    const switchedOn = (name: string): Promise<unknown> =>
      until(`${name} is switched on`, async () => (await logOf(name)).at(-1) === 'on');
    const copies = async (): Promise<readonly string[]> =>
      (await readdir(stack.folder, { recursive: true })).filter((entry) => entry.endsWith('/image.raw'));
    const pidOf = async (name: string): Promise<number> => {
      for (const entry of await readdir(stack.folder, { recursive: true })) {
        if (!/\/run-\d+\.json$/.test(entry)) continue;
        const run = JSON.parse(await readFile(join(stack.folder, entry), 'utf8')) as {
          readonly what: string;
          readonly mark: { readonly pid: number };
        };
        if (run.what.endsWith(` on ${name}`)) return run.mark.pid;
      }
      throw new Error(`no run on ${name}`);
    };
    const runs = (pid: number): boolean => {
      try {
        process.kill(pid, 0);
        return true;
      } catch {
        return false;
      }
    };

    it('switch the machine off and on to write it, and on again when it holds the image', async () => {
      await add('loaded');
      const operation = await load('loaded');
      const url = await boot('loaded');
      expect(gunzipSync(await ask(`${url}/piece/0`)).equals(content)).toBe(true);
      expect(await logOf('loaded')).toEqual(['off', 'on']);
      await ground.onMachine('loaded', 'rm -f .heddle-load current_image.txt');
      await ask(`${url}/digest`, sha256);
      await switchOff('loaded');
      const { operation: ended, machine } = await ground.end('loaded', operation);
      expect(ended.failure).toBeUndefined();
      expect(machine).toMatchObject({ state: 'available', image: web });
      expect(await logOf('loaded')).toEqual(['off', 'on', 'on']);
      expect(await rack.commands('loaded')).toContain('boot network');
    });

    it('leave a machine alone if the image is not whole, and do not count that against it', async () => {
      const before = await rack.commands('loaded');
      const image = { name: 'cut', revision: '1' };
      for (let time = 1; time <= 4; time += 1) {
        const { operation, machine } = await ground.operate('loaded', { kind: 'load', image, force: true });
        expect(operation).toMatchObject({
          answer: 'not done',
          failure: { action: 'VERIFY_IMAGE', message: expect.stringContaining('cannot be unpacked') },
        });
        expect(machine.state).toBe('available');
        expect(machine.quarantine).toBeUndefined();
      }
      expect(await rack.commands('loaded')).toEqual(before);
    });

    it('do not count it either if the image is removed after it was verified', async () => {
      const images = join(stack.folder, 'images');
      for (let time = 1; time <= 4; time += 1) {
        await writeFile(join(images, 'brief@1.raw'), content);
        const image = { name: 'brief', revision: '1' };
        const operation = await ground.begin('loaded', { kind: 'load', image, force: true });
        await until('the image is verified', async () => {
          const { step } = (await stack.client.machines.show('loaded')).operation ?? {};
          return ['power off', 'set boot', 'write'].includes(step?.step ?? '');
        });
        await rm(join(images, 'brief@1.raw'));
        const { operation: ended, machine } = await ground.end('loaded', operation);
        expect(ended).toMatchObject({
          answer: 'not done',
          failure: {
            action: 'LOAD',
            kind: 'ImageUnusable',
            message: expect.stringContaining('image brief@1 does not exist'),
          },
        });
        expect(machine.state).toBe('available');
        expect(machine.quarantine).toBeUndefined();
      }
      expect((await logOf('loaded')).at(-1)).toBe('on');
    });

    it('a load is cancelled although its worker is dead: its server is ended, then the machine is switched off', async () => {
      await add('cancelled');
      const operation = await load('cancelled');
      const url = await boot('cancelled');
      await ask(`${url}/piece/0`);
      const pid = await pidOf('cancelled');
      await worker.kill();
      expect(runs(pid)).toBe(true);
      expect(await copies()).toHaveLength(1);
      worker = await stack.startWorker('worker-2');
      await stack.client.machines.cancel('cancelled');
      expect((await ground.end('cancelled', operation)).machine.state).toBe('failed');
      // The system may take a moment to forget a process that has ended.
      await until('its program is gone', () => !runs(pid));
      expect(await copies()).toEqual([]);
      expect(await logOf('cancelled')).toEqual(['off', 'on', 'off']);
      await expect(ask(`${url}/piece/0`)).rejects.toThrow();
    });

    it('do not say that a disk is unchanged if an earlier attempt may have written it', async () => {
      await add('silent', 'hasty');
      const operation = await load('silent');
      const url = await boot('silent');
      await ask(`${url}/piece/0`);
      process.kill(-(await pidOf('silent')), 'SIGKILL');
      const { operation: ended, machine } = await ground.end('silent', operation);
      expect(ended).toMatchObject({
        answer: 'unknown',
        failure: {
          message: expect.stringMatching(/did not boot from the network.*may have written the disk/),
        },
      });
      expect(machine.state).toBe('failed');
      expect(await logOf('silent')).toEqual(['off', 'on', 'off', 'on', 'off']);
    });

    it('the outcome of a load is unknown if the machine cannot be switched off afterwards', async () => {
      await add('listed', 'listed');
      const operation = await load('listed');
      const url = await boot('listed');
      await ask(`${url}/piece/0`);
      await writeFile(join(stack.folder, 'bmc-password'), 'changed');
      await ask(`${url}/digest`, sha256);
      const { operation: ended, machine } = await ground.end('listed', operation);
      expect(ended).toMatchObject({
        answer: 'unknown',
        failure: {
          action: 'LOAD',
          kind: 'UnknownOutcome',
          message: expect.stringContaining('rejected the login'),
        },
      });
      expect(machine.state).toBe('failed');
    });

    it('need the address of the interface, and no other program that loads', async () => {
      await add('nameless');
      const ended = await ground.operate('nameless', { kind: 'load', image: web, force: true });
      expect(ended.operation).toMatchObject({
        answer: 'not done',
        failure: { message: expect.stringContaining('machine nameless has no mac') },
      });
      const absent = await ground.operate('nameless', {
        kind: 'load',
        image: { name: 'absent', revision: '1' },
        force: true,
      });
      expect(absent.operation.failure?.message).toMatch(/image absent@1 does not exist in .*images/);
    });
  },
);
