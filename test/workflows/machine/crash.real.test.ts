import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ArmedPoint, openPoints, type Points } from '../../harness/chaos/points.js';
import { buildRack, noEmulators, type Rack } from '../../harness/bmc/racks.js';
import { type Stack, startStack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { type Ended, type Ground, host, openGround } from '../../harness/machine/ground.js';

// Where a worker is killed: the work of the step is done, and nobody has heard of it; for the writes also
// just before.
const inLoad = [
  ['after', 'NODE_STATUS'],
  ['after', 'IMAGE_EXISTS'],
  ['after', 'ACQUIRE_PERMIT'],
  ['after', 'PRE_RELOAD'],
  ['after', 'POWER_OFF'],
  ['after', 'SET_BOOT'],
  ['before', 'LOAD'],
  ['after', 'LOAD'],
  ['after', 'POWER_ON'],
  ['after', 'REACH'],
  ['after', 'POST_LOAD'],
  ['after', 'GET_CURRENT_IMAGE'],
] as const;
const inCapture = [
  ['after', 'IMAGE_EXISTS'],
  ['after', 'ACQUIRE_PERMIT'],
  ['after', 'PRE_CAPTURE'],
  ['after', 'POWER_OFF'],
  ['before', 'CAPTURE'],
  ['after', 'CAPTURE'],
  ['after', 'GET_IMAGE_SIZE'],
] as const;
const names = inLoad.map((_, index) => `m${index + 1}`);
const captured = names.slice(0, inCapture.length);

describe.skipIf(noEmulators !== undefined)(
  `a worker killed at each step of LOAD and CAPTURE, with machines behind controllers that log each command${noEmulators === undefined ? '' : ` (left out: ${noEmulators})`}`,
  () => {
    let stack: Stack;
    let rack: Rack;
    let ground: Ground;
    let points: Points;
    let worker: WorkerProcess;

    beforeAll(async () => {
      const accounts: Record<string, object | 'service'> = {};
      stack = await startStack({ accounts, config: { loadsAtOnce: 100 } });
      rack = await buildRack(stack.service, stack.folder, names);
      accounts['rack'] = { type: 'ipmi', fields: rack.fields };
      points = await openPoints(stack.folder, inject('distPath'));
      worker = await stack.startWorker('first', points.distPath);
      ground = openGround(stack);
      await Promise.all(
        names.map((name) => ground.add(name, { provider: 'rack', fields: { machine: name } })),
      );
    });
    afterAll(async () => {
      await rack.stop();
      await stack.stop();
    });

    /**
     * Each machine goes on until it meets a point that no other has met; when all points are met, the worker
     * that holds them dies, and another one with nothing of its own takes over.
     */
    async function killAtEach(
      moments: readonly (readonly ['before' | 'after', string])[],
      machines: readonly string[],
      begin: (name: string) => Promise<string>,
    ): Promise<readonly Ended[]> {
      const armed: ArmedPoint[] = [];
      for (const [moment, action] of moments) armed.push(await points.arm(moment, action));
      const operations = await Promise.all(machines.map(begin));
      await until('a machine at each of the points', async () =>
        (await Promise.all(armed.map((point) => point.met()))).every((pid) => pid !== undefined),
      );
      await worker.kill();
      await Promise.all(armed.map((point) => point.release()));
      worker = await stack.startWorker(`next-${worker.pid}`, points.distPath);
      return Promise.all(machines.map((name, index) => ground.end(name, operations[index] ?? '')));
    }

    /** What it boots next may be said again. */
    const switched = async (name: string): Promise<readonly string[]> =>
      (await rack.commands(name)).filter((command) => !command.startsWith('boot'));

    it('continues a load from its step: written once, switched off once, switched on once', async () => {
      const ends = await killAtEach(inLoad, names, (name) =>
        ground.begin(name, { kind: 'load', image: host }),
      );
      for (const { operation, machine } of ends) {
        expect(operation.failure, machine.name).toBeUndefined();
        expect(machine).toMatchObject({ state: 'available', image: host });
        expect(await switched(machine.name), machine.name).toEqual(['off', 'on']);
        expect(await ground.calls('load', machine.name), machine.name).toHaveLength(1);
      }
    });

    it('continues a capture from its step: captured once, proved once, switched off and on for each', async () => {
      const ends = await killAtEach(inCapture, captured, (name) =>
        ground.begin(name, {
          kind: 'capture',
          image: { name: `image-of-${name}`, revision: '1' },
          prove: true,
        }),
      );
      for (const { operation, machine } of ends) {
        expect(operation.failure, machine.name).toBeUndefined();
        expect(machine).toMatchObject({
          state: 'available',
          image: { name: `image-of-${machine.name}`, revision: '1' },
        });
        expect((await switched(machine.name)).slice(2), machine.name).toEqual(['off', 'on', 'off', 'on']);
        expect(await ground.calls('capture', machine.name), machine.name).toHaveLength(1);
        expect(await ground.calls('load', machine.name), machine.name).toHaveLength(2);
      }
    });
  },
);
