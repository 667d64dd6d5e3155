import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { machineWorkflowId } from '../../../src/model/names.js';
import { machineMessages } from '../../../src/workflows/messages.js';
import {
  noPostgres,
  postgresImage,
  startPostgresService,
  type PostgresService,
} from '../../harness/postgres-service.js';
import { type Stack, startStack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { closed, nodes } from '../../harness/workflows/spec.js';
import { type Ground, openGround } from '../../harness/machine/ground.js';

const verbs = ['reach', 'current', 'capture', 'load', 'check', 'taint'] as const;
const names = ['shop', 'loaded', 'captured', 'silent', 'used', 'drifted'];

describe.skipIf(noPostgres !== undefined)(
  `a database that is registered as a machine, with its dump as its image${noPostgres === undefined ? '' : ` (left out: ${noPostgres})`}`,
  () => {
    let databases: PostgresService;
    let stack: Stack;
    let ground: Ground;
    let worker: WorkerProcess;
    let folder: string;
    const value = (name: string): Promise<string> => databases.sql(name, 'SELECT value FROM setting');
    const change = (name: string, to: string): Promise<string> =>
      databases.sql(name, `UPDATE setting SET value = '${to}'`);

    beforeAll(async () => {
      databases = await startPostgresService(names);
      for (const name of names)
        await databases.sql(name, "CREATE TABLE setting (value text); INSERT INTO setting VALUES ('EUR')");
      const accounts: Record<string, object> = {};
      stack = await startStack({ accounts, config: { loadsAtOnce: 100 } });
      folder = join(stack.folder, 'databases');
      await mkdir(join(folder, 'images'), { recursive: true });
      const password = join(folder, 'password');
      await writeFile(password, 'not looked at');
      const resources = databases.resources.map((resource) => ({
        ...resource,
        environment: { ...resource.environment, PGPASSWORD: { secret: `file:${password}` } },
      }));
      // Each notes that it was begun, and waits while there is a file that holds it.
      const script = `echo begun >>"${folder}/$1.$HEDDLE_RESOURCE"; while [ -e "${folder}/hold.$1.$HEDDLE_RESOURCE" ]; do sleep 0.05; done; exec "${postgresImage}" "$1"`;
      accounts['databases'] = {
        type: 'service',
        fields: {
          folder,
          resources,
          programs: Object.fromEntries(verbs.map((verb) => [verb, ['sh', '-c', script, 'program', verb]])),
        },
      };
      worker = await stack.startWorker('first');
      ground = openGround(stack);
      await Promise.all(
        names.map((name) =>
          ground.add(name, { provider: 'databases', system: null, fields: { resource: name } }),
        ),
      );
    });
    afterAll(async () => {
      await stack.stop();
      await databases.stop();
    });

    const begun = async (verb: string, name: string): Promise<number> =>
      (await readFile(join(folder, `${verb}.${name}`), 'utf8').catch(() => '')).split('\n').length - 1;
    const hold = (verb: string, name: string): Promise<void> =>
      writeFile(join(folder, `hold.${verb}.${name}`), '');
    const letGo = (verb: string, name: string): Promise<void> => rm(join(folder, `hold.${verb}.${name}`));

    const lookAt = async (name: string): Promise<void> => {
      const { checkedAt } = await stack.client.machines.show(name);
      await stack.client.temporal.workflow
        .getHandle(machineWorkflowId(name))
        .signal(machineMessages.signals.check);
      await until(
        'it was looked at',
        async () => (await stack.client.machines.show(name)).checkedAt !== checkedAt,
      );
    };

    it('is captured and proved, changed, and loaded back; a load of the same image does nothing', async () => {
      const { operate } = ground;
      const image = { name: 'base', revision: '1' };
      expect((await operate('shop', { kind: 'status', image })).operation.result?.status).toMatchObject({
        status: 'RELOAD',
        ping: 1,
        ssh: null,
        rpower: null,
        currentimage: null,
      });
      const captured = await operate('shop', { kind: 'capture', image, prove: true });
      expect(captured.operation.failure).toBeUndefined();
      expect(captured).toMatchObject({
        operation: { result: { image, sizeMb: 1 } },
        machine: { state: 'available', image },
      });
      expect([await begun('capture', 'shop'), await begun('load', 'shop')]).toEqual([1, 1]);
      expect((await operate('shop', { kind: 'load', image })).operation.result).toMatchObject({
        did: 'nothing',
        status: { status: 'READY', currentimage: 'base' },
      });

      await change('shop', 'DKK');
      expect((await operate('shop', { kind: 'status' })).operation.result?.status).toMatchObject({
        status: 'RELOAD',
        currentimage: 'base',
        evidence: { revision: '1', check: 'no' },
      });
      const loaded = await operate('shop', { kind: 'load', image });
      expect(loaded).toMatchObject({
        operation: { state: 'done', result: { did: 'everything' } },
        machine: { state: 'available', image },
      });
      expect(await value('shop')).toBe('EUR');
      expect(await begun('load', 'shop')).toBe(2);

      const refused = await operate('shop', { kind: 'capture', image, prove: true });
      expect(refused).toMatchObject({
        operation: { state: 'failed', answer: 'not done', failure: { action: 'IMAGE_EXISTS' } },
        machine: { state: 'available' },
      });
      expect(await begun('capture', 'shop')).toBe(1);
      await expect(stack.client.machines.operate('shop', { kind: 'power', verb: 'off' })).rejects.toThrow(
        /does not support POWER_OFF/,
      );
    });

    it('continues a LOAD and a CAPTURE whose worker was killed: each program is started once', async () => {
      const { begin, end, operate } = ground;
      const image = { name: 'start', revision: '1' };
      await operate('loaded', { kind: 'capture', image, prove: true });
      await change('loaded', 'DKK');
      await hold('load', 'loaded');
      await hold('capture', 'captured');
      const load = await begin('loaded', { kind: 'load', image });
      const capture = await begin('captured', {
        kind: 'capture',
        image: { name: 'copy', revision: '1' },
        prove: true,
      });
      await until(
        'both are in the middle',
        async () => (await begun('load', 'loaded')) === 2 && (await begun('capture', 'captured')) === 1,
      );
      await worker.kill();
      worker = await stack.startWorker('next');
      await letGo('load', 'loaded');
      await letGo('capture', 'captured');
      const [one, other] = [await end('loaded', load), await end('captured', capture)];
      expect([one.operation.failure, other.operation.failure]).toEqual([undefined, undefined]);
      expect(one.machine).toMatchObject({ state: 'available', image });
      expect(await value('loaded')).toBe('EUR');
      expect(other.machine).toMatchObject({ state: 'available', image: { name: 'copy', revision: '1' } });
      expect([
        await begun('load', 'loaded'),
        await begun('capture', 'captured'),
        await begun('load', 'captured'),
      ]).toEqual([2, 1, 1]);
    });

    it('is failed when its load is cancelled, with no program left behind, and whole again after the next', async () => {
      const { begin, end, operate } = ground;
      const image = { name: 'used', revision: '1' };
      await operate('used', { kind: 'capture', image, prove: true });
      await operate('used', { kind: 'reserve', user: 'ada' });
      expect((await operate('used', { kind: 'log in', user: 'ada' })).machine).toMatchObject({
        state: 'in use',
      });
      expect((await operate('used', { kind: 'status' })).operation.result?.status).toMatchObject({
        status: 'RELOAD',
        evidence: { tainted: true, taintReasons: ['user ada'] },
      });
      await change('used', 'SEK');
      await hold('load', 'used');
      const load = await begin('used', { kind: 'load', image });
      await until('it is in the middle', async () => (await begun('load', 'used')) === 2);
      await stack.client.machines.cancel('used');
      expect(await end('used', load)).toMatchObject({
        operation: { state: 'cancelled' },
        machine: { state: 'failed', half: image },
      });
      await letGo('load', 'used');
      expect(await value('used')).toBe('SEK');
      expect((await operate('used', { kind: 'load', image })).machine).toMatchObject({
        state: 'available',
        image,
      });
      expect(await value('used')).toBe('EUR');
    });

    it('is loaded again by a periodic check, if its policy says so, when it reports another image', async () => {
      const { operate } = ground;
      const image = { name: 'kept', revision: '1' };
      await operate('drifted', { kind: 'capture', image, prove: true });
      await operate('drifted', { kind: 'correct', drift: ['image', 'gone'] });
      await change('drifted', 'DKK');
      await databases.sql('drifted', 'COMMENT ON DATABASE drifted IS NULL');
      await lookAt('drifted');
      expect((await stack.client.machines.show('drifted')).drift).toMatchObject([
        { kind: 'image', found: 'none', seen: 1 },
      ]);
      await lookAt('drifted');
      await until(
        'it is loaded again',
        async () => (await stack.client.machines.show('drifted')).history[0]?.by === 'a periodic check',
      );
      expect(await begun('load', 'drifted')).toBe(2);
      await lookAt('drifted');
      expect((await stack.client.machines.show('drifted')).drift).toEqual([]);
      expect(await value('drifted')).toBe('EUR');
    });

    it('is never loaded because of missing answers, and is registered without a system only', async () => {
      const { operate, end } = ground;
      const image = { name: 'quiet', revision: '1' };
      await operate('silent', { kind: 'capture', image, prove: true });
      await databases.down();
      const load = await operate('silent', { kind: 'load', image });
      const status = await operate('silent', { kind: 'status' });
      await databases.up();
      expect(load).toMatchObject({
        operation: { state: 'failed', answer: 'unknown', failure: { action: 'NODE_STATUS' } },
        machine: { state: 'available' },
      });
      expect(status.operation.result?.status).toMatchObject({ status: 'UNKNOWN', ping: null, ssh: null });
      expect(await begun('load', 'silent')).toBe(1);
      const { operation } = await stack.client.machines.add('unix', {
        provider: 'databases',
        flavor: 'x',
        image: 'x',
        fields: { resource: 'shop' },
        system: 'linux',
      });
      expect((await end('unix', operation)).operation.failure?.message).toContain('--system none');
      const spec = closed({
        name: 'none',
        nodes: { app: nodes(1, [], { provider: 'databases' }) },
        services: {},
      });
      await expect(stack.client.plan(spec)).rejects.toMatchObject({
        cause: { cause: { message: expect.stringContaining('have no log-in') } },
      });
    });
  },
);
