import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ArmedPoint, openPoints, type Points } from '../../harness/chaos/points.js';
import { type Stack, startStack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { openGround as openMachines } from '../../harness/machine/ground.js';
import { type Ground, greeting, openGround, recipe } from '../../harness/image/ground.js';

describe('builds with faults', () => {
  let stack: Stack;
  let elsewhere: Stack;
  let ground: Ground;
  let points: Points;
  let worker: WorkerProcess;
  let builder: WorkerProcess;
  let ledger: string;
  let folder: string;

  beforeAll(async () => {
    const accounts: Record<string, object | 'service'> = {};
    const config: Record<string, unknown> = {};
    stack = await startStack({ accounts, config });
    // Another machine service, with a library of its own.
    elsewhere = await startStack({ namespace: stack.namespace });
    accounts['elsewhere'] = {
      type: 'local',
      fields: {
        endpoint: elsewhere.service.endpoint,
        apiKey: { secret: `file:${elsewhere.service.apiKeyFile}` },
      },
    };
    ledger = join(stack.folder, 'ledger');
    folder = join(stack.folder, 'files');
    // It waits in the middle for the gate to be opened, and says outside what it did.
    const pack =
      'echo began >>"$LEDGER"; mkdir files; echo "$GREETING" >files/greeting; while [ ! -e "$GATE" ]; do sleep 0.1; done; echo ended >>"$LEDGER"; tar -cf "$HEDDLE_OUTPUT.tar" files';
    config['builder'] = {
      builds: 20,
      folder,
      commands: {
        pack: { run: ['/bin/sh', '-c', pack], variables: { GREETING: '[a-z]+', LEDGER: '/.+', GATE: '/.+' } },
        forget: { run: ['/bin/sh', '-c', 'echo nothing is left'] },
      },
    };
    points = await openPoints(stack.folder, inject('distPath'));
    worker = await stack.startWorker('first', points.distPath);
    builder = await stack.startBuilder('builder', points.distPath);
    ground = openGround(stack);
  });
  afterAll(async () => {
    await elsewhere.stop();
    await stack.stop();
  });

  it('continue after the worker is killed: each from its step, its script executed once, and no machine left', async () => {
    const moments = [
      ['after', 'CREATE'],
      ['after', 'INSTALL'],
      ['before', 'CAPTURE'],
      ['after', 'CAPTURE'],
      ['after', 'DELETE'],
    ] as const;
    const names = moments.map((_, index) => `kill-${index + 1}`);
    for (const name of names)
      await ground.apply(name, {
        recipe,
        ...greeting(`${ledger}-${name}`, name),
        validate: { command: `grep ${name} "$HOME/greeting"` },
      });
    const armed: ArmedPoint[] = [];
    for (const [moment, action] of moments) armed.push(await points.arm(moment, action));
    const asked = await Promise.all(names.map((name) => stack.client.images.build(name)));
    await until('a build at each of the points', async () =>
      (await Promise.all(armed.map((point) => point.met()))).every((pid) => pid !== undefined),
    );
    await worker.kill();
    await Promise.all(armed.map((point) => point.release()));
    worker = await stack.startWorker('next', points.distPath);
    const builds = await Promise.all(
      names.map((name, index) =>
        stack.client.images.waitForBuild(name, asked[index]?.build ?? 0, { everyMs: 200 }),
      ),
    );
    expect(builds.map(({ number, state }) => [number, state])).toEqual(names.map(() => [1, 'ready']));
    for (const name of names)
      expect((await readFile(`${ledger}-${name}`, 'utf8')).trim(), name).toBe('installed');
    expect((await stack.service.journal('capture')).filter(({ repeated }) => repeated !== true)).toHaveLength(
      names.length,
    );
    // A machine for each build and one for each check: no key got two.
    expect((await stack.service.journal('create')).filter(({ repeated }) => repeated !== true)).toHaveLength(
      2 * names.length,
    );
    await until('no machine', async () => (await ground.hostnames()).length === 0);
  });

  it('fail without deleting an image of the same name that is not theirs', async () => {
    const { add, operate } = openMachines(stack);
    const own = { name: 'own', revision: '1' };
    await add('person');
    await operate('person', { kind: 'capture', image: own, prove: false });
    await ground.apply('own', { recipe, ...greeting(`${ledger}-own`, 'own'), validate: false });
    // The first one is refused, what is left of it is deleted, and the next one has another revision.
    expect(await ground.build('own')).toMatchObject({ number: 2, state: 'ready' });
    expect(await Promise.all(['own@1', 'own@2'].map((image) => ground.has(image)))).toEqual([true, true]);
    await operate('person', { kind: 'remove' });
  });

  it('continue a command after the death of its builder, and upload its file to several providers concurrently', async () => {
    const gate = join(stack.folder, 'gate');
    const command = {
      run: 'pack',
      environment: { GREETING: 'packed', LEDGER: `${ledger}-pack`, GATE: gate },
      formats: ['tar'],
    };
    await ground.apply('packed', {
      command,
      uploads: [{ provider: 'elsewhere' }, { provider: 'local' }],
      validate: { hardware: 'tiny', command: 'test "$(cat "$HOME/greeting")" = packed' },
    });
    const { build } = await stack.client.images.build('packed');
    await until(
      'the command runs',
      async () => (await readFile(`${ledger}-pack`, 'utf8').catch(() => '')) === 'began\n',
    );
    await builder.kill();
    // Neither goes on before both are asked.
    const held = await Promise.all(
      [stack, elsewhere].map(async ({ service }) => ({
        service,
        fault: await service.arm({ fault: 'hold-answer', operation: 'upload' }),
      })),
    );
    builder = await stack.startBuilder('builder-2', points.distPath);
    await ground.openGate(gate);
    await until('both uploads are under way', async () =>
      (await Promise.all(held.map(({ service, fault }) => service.held(fault)))).every(
        (count) => count === 1,
      ),
    );
    for (const { service, fault } of held) await service.release(fault);
    const made = await stack.client.images.waitForBuild('packed', build, { everyMs: 200 });
    expect(made).toMatchObject({
      number: 1,
      files: [
        {
          format: 'tar',
          path: join(folder, 'packed-1.tar'),
          sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      ],
    });
    expect(made.uploads).toHaveLength(2);
    for (const provider of ['elsewhere', 'local'])
      expect(made.uploads).toContainEqual(
        expect.objectContaining({ provider, state: 'ready', image: 'packed@1' }),
      );
    expect(await readFile(`${ledger}-pack`, 'utf8')).toBe('began\nended\n');
    await stack.client.images.delete('packed');
    await stack.client.images.gone('packed');
    await expect(readFile(join(folder, 'packed-1.tar'))).rejects.toThrow(/ENOENT/);
    expect(await ground.has('packed@1')).toBe(false);
    expect((await elsewhere.service.journal('delete-image')).map(({ id }) => id)).toEqual(['packed@1']);
  });

  it('wait for running uploads when they are cancelled during a pause, and leave no image', async () => {
    const gate = join(stack.folder, 'open');
    await ground.openGate(gate);
    const command = {
      run: 'pack',
      environment: { GREETING: 'halted', LEDGER: `${ledger}-halted`, GATE: gate },
      formats: ['tar'],
    };
    const { images } = stack.client;
    await ground.apply('halted', {
      command,
      uploads: [{ provider: 'elsewhere' }, { provider: 'local' }],
      validate: { hardware: 'tiny' },
    });
    await images.pause('halted', 'local');
    const fault = await elsewhere.service.arm({ fault: 'hold-answer', operation: 'upload' });
    await images.build('halted');
    await until('the other upload is under way', async () => (await elsewhere.service.held(fault)) === 1);
    const { builds } = await ground.see('halted');
    expect(builds[0]?.uploads).toContainEqual(
      expect.objectContaining({ provider: 'local', state: 'waiting' }),
    );
    await images.cancel('halted');
    await elsewhere.service.release(fault);
    await until(
      'nothing is left of it',
      async () => (await ground.see('halted')).builds[0]?.uploads.length === 0,
    );
    expect(await ground.see('halted')).toMatchObject({ builds: [{ number: 1, state: 'cancelled' }] });
    const made = await elsewhere.service.call('GET', '/v1/images/halted@1').then(
      () => true,
      () => false,
    );
    expect(made).toBe(false);
    await images.delete('halted');
    await images.gone('halted');
  });

  it('delete uploads at an account that is taken out of the file, and keep the others', async () => {
    const gate = join(stack.folder, 'open');
    await ground.openGate(gate);
    const spec = {
      command: {
        run: 'pack',
        environment: { GREETING: 'moved', LEDGER: `${ledger}-moved`, GATE: gate },
        formats: ['tar'],
      },
      validate: false,
    };
    const { images } = stack.client;
    const isAt = (service: typeof stack.service): Promise<boolean> =>
      service.call('GET', '/v1/images/moved@1').then(
        () => true,
        () => false,
      );
    await ground.apply('moved', { ...spec, uploads: [{ provider: 'elsewhere' }, { provider: 'local' }] });
    await ground.build('moved');
    expect(await isAt(elsewhere.service)).toBe(true);
    await ground.apply('moved', { ...spec, uploads: [{ provider: 'local' }] });
    await until('its upload is gone', async () =>
      (await ground.see('moved')).builds[0]?.uploads.every(({ provider }) => provider === 'local'),
    );
    expect(await ground.see('moved')).toMatchObject({
      builds: [{ number: 1, state: 'ready', uploads: [{ provider: 'local', state: 'ready' }] }],
    });
    expect([await isAt(elsewhere.service), await isAt(stack.service)]).toEqual([false, true]);
    await images.delete('moved');
    await images.gone('moved');
  });

  it('upload a captured image to another provider, which accepts it at the second attempt', async () => {
    await ground.apply('copied', {
      recipe,
      ...greeting(`${ledger}-copied`, 'copied'),
      uploads: [{ provider: 'elsewhere' }],
    });
    const lost = await elsewhere.service.arm({ fault: 'lose-answer', operation: 'upload' });
    await ground.build('copied');
    await elsewhere.service.release(lost);
    expect(
      (await elsewhere.service.journal('upload')).filter(
        ({ id, repeated }) => id === 'copied@1' && repeated !== true,
      ),
    ).toHaveLength(1);
    expect((await ground.see('copied')).builds[0]?.uploads.every(({ state }) => state === 'ready')).toBe(
      true,
    );
    await stack.client.images.delete('copied');
    await stack.client.images.gone('copied');
    expect(await ground.has('copied@1')).toBe(false);
  });

  it('leave nothing after a failure; the request stays until it is withdrawn', async () => {
    await ground.apply('failing', {
      command: { run: 'forget', formats: ['tar'] },
      uploads: [{ provider: 'local' }],
    });
    const { build } = await stack.client.images.build('failing');
    await until(
      'the build has failed',
      async () => (await ground.see('failing')).builds[0]?.state === 'failed',
    );
    expect(await ground.see('failing')).toMatchObject({
      request: { failed: 1 },
      doing: 'waits before the next build',
      builds: [
        {
          number: build,
          why: expect.stringContaining('did not create the file $HEDDLE_OUTPUT.tar'),
          files: [],
          uploads: [],
        },
      ],
    });

    await ground.apply('wrong', {
      recipe,
      ...greeting(`${ledger}-wrong`, 'right'),
      validate: { command: 'grep wrong "$HOME/greeting"' },
    });
    await stack.client.images.build('wrong');
    await until(
      'the check has failed',
      async () => (await ground.see('wrong')).builds[0]?.state === 'failed',
    );
    await until(
      'nothing is left of it',
      async () => !(await ground.has('wrong@1')) && (await ground.hostnames()).length === 0,
    );
    expect((await ground.see('wrong')).newest).toBeUndefined();
    await stack.client.images.cancel('wrong');
    expect((await ground.see('wrong')).request).toBeUndefined();

    // Deleted while it waits for a builder, which is gone.
    await builder.stop();
    await stack.client.images.build('wrong');
    await until(
      'it waits',
      async () => (await ground.see('wrong')).builds[0]?.step === 'waits for a builder',
    );
    await stack.client.images.delete('wrong');
    await stack.client.images.gone('wrong');
    await expect(
      ground.apply('lost', {
        command: { run: 'nothing', formats: ['tar'] },
        uploads: [{ provider: 'nowhere' }],
      }),
    ).rejects.toThrow(/names provider "nowhere".*names command "nothing"/s);
  });
});
