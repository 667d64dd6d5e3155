import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildRack, noEmulators, type Rack } from '../../harness/bmc/racks.js';
import { type Ground, host, openGround } from '../../harness/machine/ground.js';
import { processesWith } from '../../harness/processes.js';
import { type Stack, startStack } from '../../harness/stack.js';

describe.skipIf(noEmulators !== undefined)(
  `the limits of an account for loads${noEmulators === undefined ? '' : ` (left out: ${noEmulators})`}`,
  () => {
    let stack: Stack;
    let rack: Rack;
    let ground: Ground;
    const names = ['stuck', 'slow', 'halved', 'crashed'];

    beforeAll(async () => {
      const accounts: Record<string, object | 'service'> = {};
      stack = await startStack({ accounts });
      // Named after the folder of this test, to be found among the processes.
      const load = (program: string): readonly string[] => ['sh', '-c', `${program}; : ${stack.folder}`];
      const answer = ['sh', '-c', 'echo 1'];
      rack = await buildRack(stack.service, stack.folder, names);
      const account = (program: string, limits: object): object => ({
        type: 'ipmi',
        fields: { ...rack.fields, imager: { exists: answer, size: answer, load: load(program) } },
        limits,
      });
      accounts['stuck'] = account('echo at 7 percent; sleep 500', {
        progressWithin: '2s',
        loadWithin: '90s',
      });
      accounts['slow'] = account('while :; do date +%N; sleep 0.2; done', { loadWithin: '40s' });
      const begun = join(stack.folder, 'begun');
      accounts['halved'] = account(`[ -e ${begun} ] && exit 10; touch ${begun}; sleep 500`, {
        progressWithin: '2s',
      });
      accounts['crashed'] = account('exit 1', { loadWithin: '40s' });
      await stack.startWorker();
      ground = openGround(stack);
      await Promise.all(names.map((name) => ground.add(name, { provider: name, fields: { machine: name } })));
    });
    afterAll(async () => {
      await rack.stop();
      await stack.stop();
    });

    it.concurrent('end a write without progress, with its last report and its program', async () => {
      const { operation, machine } = await ground.operate('stuck', { kind: 'load', image: host });
      expect(operation).toMatchObject({ state: 'failed', answer: 'unknown', failure: { action: 'LOAD' } });
      expect(operation.failure?.message).toMatch(
        /LOAD reported no progress for 2 s; the last report was: at 7 percent/,
      );
      expect(machine).toMatchObject({ state: 'failed', why: expect.stringContaining('no progress for 2 s') });
      expect(processesWith('at 7 percent').filter(({ line }) => line.includes(stack.folder))).toEqual([]);
    });

    it.concurrent('leave half an image, which a later load that wrote nothing does not make whole', async () => {
      const load = { kind: 'load', image: host, force: true } as const;
      const { operation } = await ground.operate('halved', load);
      expect(operation).toMatchObject({ answer: 'unknown', failure: { action: 'LOAD' } });
      const later = await ground.operate('halved', load);
      expect(later.operation).toMatchObject({ answer: 'not done', failure: { action: 'LOAD' } });
      expect(later.machine).toMatchObject({
        state: 'failed',
        why: expect.stringContaining('it is not proved that its disk has the complete image'),
      });
      const posted = await ground.operate('halved', { kind: 'load', image: host, only: 'post-load' });
      expect(posted.operation.failure?.message).toContain('halved needs a load');
    });

    it.concurrent('take a program that ends as crashes do for a write of unknown outcome', async () => {
      const { operation, machine } = await ground.operate('crashed', { kind: 'load', image: host });
      expect(operation).toMatchObject({ state: 'failed', answer: 'unknown', failure: { action: 'LOAD' } });
      expect(machine.state).toBe('failed');
    });

    it.concurrent('end a load that makes progress for too long, unless the request has a limit of its own', async () => {
      const { operation, machine } = await ground.operate('slow', { kind: 'load', image: host });
      expect(operation).toMatchObject({ state: 'failed', answer: 'unknown', failure: { action: 'LOAD' } });
      expect(operation.failure?.message).toMatch(/did not end within its 40 s, at the step write/);
      expect(machine.state).toBe('failed');
    });
  },
);
