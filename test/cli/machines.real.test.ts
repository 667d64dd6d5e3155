import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { unable } from '../harness/reservation/real-machine.js';
import { heddleOn } from '../harness/cli/run-heddle.js';

/** What people type about machines, images on them, and who has them; in the order in which one would. */
describe.skipIf(unable !== undefined)('heddle machine, computers and reservation', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ kind: 'sandbox' });
    await stack.startWorker();
  });

  const { run, json } = heddleOn(() => stack);

  it('names the first command if there are no machines, and explains wrong arguments', async () => {
    const first = 'no machines\nnext: heddle machine add NAME --provider PROVIDER\n';
    expect(await run('computers')).toMatchObject({ code: 0, stdout: first });
    expect(await run('machine', 'list')).toMatchObject({ code: 0, stdout: first });
    expect(await run('reservation', 'list')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no reservations'),
    });
    expect(await run('machine', 'add', 'lab-1', '--provider', 'nobody')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('nobody'),
    });
    expect(await run('machine', 'power', 'lab-1', 'up')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('on, off, reset, status'),
    });
    expect(await run('machine', 'load', 'lab-1', 'two words')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('name@revision'),
    });
    expect(await run('machine', 'show', 'lab-9')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('machine lab-9 does not exist'),
    });
    expect(await run('machine', 'power', 'web/../x', 'on')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"web/../x" is not a valid name of a machine or node'),
    });
    expect(await run('machine', 'load', 'lab-1', 'host', '--within', '40d')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not a valid duration; use one from 1 s to 30 days'),
    });
    expect(await run('reservation', 'show', 'r9')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('r9'),
    });
  });

  it('registers, shows, switches, loads, captures and cleans a machine', async () => {
    expect(await run('machine', 'add', 'lab-1', '--provider', 'local')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/lab-1: register done in .*\nmachine lab-1 is available\n/),
    });
    expect(await run('machine', 'add', 'lab-1', '--provider', 'local')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('machine lab-1 already exists'),
    });
    expect(await run('machine', 'load', 'lab-1', 'host')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/lab-1: load host@1 done in /),
    });
    expect(await run('machine', 'status', 'lab-1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('READY'),
    });
    expect(await json('machine', 'status', 'lab-1')).toMatchObject({
      operation: {
        result: { status: { status: 'READY', ping: 1, ssh: 1, rpower: 1, currentimage: 'host' } },
      },
    });
    expect(await run('machine', 'load', 'lab-1', 'nosuch')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('machine lab-1 is available: image nosuch@1 does not exist'),
    });
    expect(await run('machine', 'load', 'lab-1', 'host')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/because it already has the image\nmachine lab-1 is available\n$/),
    });
    expect(await run('machine', 'power', 'lab-1', 'off')).toMatchObject({ code: 0 });
    expect(await run('machine', 'power', 'lab-1')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\boff\b[^]*machine lab-1 is available, stopped/),
    });
    for (const command of [['machine', 'list'], ['computers']])
      expect((await run(...command)).stdout).toMatch(/^lab-1 .*available, stopped/m);
    expect(await run('machine', 'power', 'lab-1', 'on')).toMatchObject({ code: 0 });
    const outage = await stack.service.arm({
      fault: 'http',
      status: 503,
      operation: 'describe',
      hostname: 'machine-lab-1',
      count: 0,
    });
    expect(await run('machine', 'power', 'lab-1')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/power: unknown, .*503/),
    });
    await stack.service.release(outage);
    expect(await run('machine', 'capture', 'lab-1', 'base@1')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/image base@1: \d+ MB\nmachine lab-1 is available\n/),
    });
    expect(await run('machine', 'capture', 'lab-1', 'base@1')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/image base@1 already exists[^]*machine lab-1 is available/),
    });
    expect(await run('machine', 'unload', 'lab-1')).toMatchObject({ code: 0 });
    expect(await run('computers')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^MACHINE +SYSTEM +PROVIDER +SITE +STATE +USER +UNTIL\nlab-1 +local +local +default +available +- +-\n\nsite default serves local\n$/,
      ),
    });
    expect(await run('machine', 'show', 'lab-1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('base@1'),
    });
  });

  it('operates on all machines that match a pattern, and shows one table', async () => {
    const names = ['rack-1', 'rack-2', 'rack-10'];
    for (const name of names)
      expect(await run('machine', 'add', name, '--provider', 'local')).toMatchObject({ code: 0 });
    expect(await run('machine', 'power', 'rack-*', 'off', '--at-once', '2')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^MACHINE +RESULT +STATE +POWER +WHY\nrack-1 +done +available, stopped +off +-\nrack-2 +done [^\n]+\nrack-10 +done [^\n]+\n$/,
      ),
    });
    for (const words of [
      ['maintain', 'rack-*', '--reason', 'cables'],
      ['restore', 'rack-*'],
      ['correct', 'rack-*', 'power'],
    ])
      expect(await run('machine', ...words)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/\nrack-1 +done [^\n]+\nrack-2 +done [^\n]+\nrack-10 +done /),
      });
    expect(await json('machine', 'status', 'rack-*')).toMatchObject({
      results: names.map((machine) => ({
        machine,
        result: 'done',
        status: 'RELOAD',
        why: expect.stringMatching(/^RELOAD: /),
      })),
    });
    expect(await json('machine', 'cancel', 'rack-*')).toMatchObject({
      results: names.map((machine) => ({ machine, result: 'unchanged' })),
    });
    expect(await run('machine', 'maintain', 'rack-2')).toMatchObject({ code: 0 });
    const { code, stdout } = await run('machine', 'load', 'rack-*', 'host', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      results: [
        { machine: 'rack-1', result: 'done', state: 'available', power: 'on' },
        { machine: 'rack-2', result: 'refused', why: expect.stringContaining('in maintenance') },
        { machine: 'rack-10', result: 'done' },
      ],
    });
    expect(await run('machine', 'retry', 'nosuch-*')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('no machine matches nosuch-*'),
    });
    expect(await run('machine', 'power', 'a/*')).toMatchObject({ code: 2 });
    expect(await run('machine', 'remove', 'rack-*', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/rack-10 +done +removed/),
    });
  });

  it('selects machines by their groups and labels, and free machines of a group by their number', async () => {
    const tags = [
      ['--group', 'web,spare', '--label', 'rack=r1'],
      ['--group', 'web', '--label', 'rack=r2', '--label', 'old=yes'],
      [],
    ];
    for (const [index, options] of tags.entries())
      expect(
        await run('machine', 'add', `node-${index + 1}`, '--provider', 'local', ...options),
      ).toMatchObject({ code: 0 });
    const names = async (...options: readonly string[]): Promise<readonly string[]> => {
      const { machines } = await json('machine', 'list', ...options);
      return (machines as readonly { readonly name: string }[]).map(({ name }) => name).toSorted();
    };
    expect(await names('--group', 'web')).toEqual(['node-1', 'node-2']);
    expect(await names('--group', 'web', '--label', 'rack=r2')).toEqual(['node-2']);
    expect(await run('machine', 'label', 'node-*', 'rack=r3', 'old-', '--label', 'rack=r2')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^MACHINE[^\n]+\nnode-2 +done [^\n]+\n$/),
    });
    expect(await run('machine', 'group', 'node-3', 'web')).toMatchObject({ code: 0 });
    expect((await run('machine', 'show', 'node-2')).stdout).toMatch(/ groups web\n {2}labels rack=r3\n/);
    expect(await json('computers', '--label', 'rack=r3')).toMatchObject({
      computers: [{ name: 'node-2', groups: ['web'], labels: { rack: 'r3' } }],
    });
    expect(await run('machine', 'label', 'node-2', 'a b')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('neither KEY=VALUE nor KEY-'),
    });
    expect(await run('machine', 'maintain', 'node-1')).toMatchObject({ code: 0 });
    expect(await run('machine', 'power', 'web@3', 'reset')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('2 of 3 machines of group web are free, but 3 are requested'),
    });
    expect(await run('machine', 'power', 'web@2', 'reset')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\nnode-2 +done[^\n]+\nnode-3 +done[^\n]+\n$/),
    });
    expect(
      await json('reservation', 'create', 'host', '--user', 'ada', '--machine', 'web@2', '--for', '1h'),
    ).toMatchObject({
      reservation: { wanted: { group: 'web', count: 2 }, machines: [{ name: 'node-2' }, { name: 'node-3' }] },
    });
    const one = ['reservation', 'create', 'host', '--user', 'bob', '--for', '1h'] as const;
    expect(await run(...one, '--group', 'spare')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/node-1: it is in maintenance[^]*node-2: it is not in group spare/),
    });
    for (const { id } of (await json('reservation', 'list'))['reservations'] as readonly {
      readonly id: string;
    }[]) {
      expect(await run('reservation', 'ready', id)).toMatchObject({ code: 0 });
      expect(await run('reservation', 'return', id)).toMatchObject({ code: 0 });
    }
    await until(
      'the machines are free again',
      async () =>
        (await names('--group', 'web')).length === 3 &&
        !(await run('machine', 'list')).stdout.includes('ada'),
    );
    expect(await run('machine', 'remove', 'node-*', '--yes', '--force')).toMatchObject({ code: 0 });
  });

  it('reserves a machine for its user for a period', async () => {
    const { reservation } = (await json('reservation', 'create', 'base', '--user', 'ada', '--for', '2h')) as {
      readonly reservation: { readonly id: string };
    };
    expect(await run('reservation', 'ready', reservation.id)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/ready\n[^]*lab-1: placed/),
    });
    expect(
      await run('reservation', 'create', 'host', '--user', 'bob', '--machine', 'lab-1', '--for', '1h'),
    ).toMatchObject({ code: 3, stderr: expect.stringContaining('is reserved for ada') });
    expect(await run('machine', 'remove', 'lab-1', '--yes')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('reserved for ada'),
    });
    expect(await run('reservation', 'log-in', reservation.id)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /lab-1: ssh .* -o 'PubkeyAuthentication=no' -p \d+ hd-ada@127\.\S+\n {2}password \S+\n/,
      ),
    });
    expect(await run('computers')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/lab-1 +local +local +default +in use +ada +2\d{3}-/),
    });
    expect(await run('reservation', 'return', reservation.id)).toMatchObject({ code: 0 });
    await until('the machine is free again', async () =>
      (await run('computers')).stdout.includes('available'),
    );
    expect(await run('machine', 'remove', 'lab-1', '--yes')).toMatchObject({ code: 0 });
    expect(await run('machine', 'show', 'lab-1')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^machine lab-1: no longer registered\n/),
    });
    expect(await run('machine', 'add', 'lab-2', '--provider', 'nowhere')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /has no provider "nowhere"[^]*machine lab-2 is not registered\nnext: heddle provider list\n$/,
      ),
    });
    expect(await run('machine', 'add', 'lab-2', '--provider', 'local', '--flavor', 'huge')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/must be one of tiny[^]*machine lab-2 is not registered\n/),
    });
    expect(await run('machine', 'list')).toMatchObject({ stdout: expect.stringContaining('no machines') });
    expect(await stack.service.machines()).toEqual([]);
  });

  it('asks no confirmation to delete an image or build that does not exist', async () => {
    const file = join(stack.folder, 'image.json');
    await writeFile(
      file,
      JSON.stringify({
        name: 'web',
        recipe: { provider: 'local', hardware: 'tiny', image: 'host' },
        validate: false,
      }),
    );
    expect(await run('image', 'apply', file)).toMatchObject({ code: 0 });
    expect(await run('image', 'delete', 'web')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'Delete image web with all its builds? This needs a terminal to confirm',
      ),
    });
    expect(await run('image', 'delete', 'web', '--build', '9')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('image web has no build 9'),
    });
    expect(await run('image', 'delete', 'nosuch')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('image nosuch does not exist'),
    });
    expect(await run('image', 'delete', 'web', '--yes')).toMatchObject({ code: 0 });
  });

  it('operates on the machine of a node, and explains why an operation is refused', async () => {
    const { operation } = await stack.client.apply(
      closed({ name: 'web', nodes: { app: nodes(1, []) }, services: {} }),
    );
    await stack.client.waitFor('web', operation);
    expect(await run('machine', 'power', 'web/app-1', 'reset')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^web\/app-1: power reset done in [^\n]*\n$/),
    });
    expect(await run('machine', 'load', 'web/app-2', 'host')).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/cluster web has no node app-2[^]*next: heddle nodes web\n$/),
    });
    expect(await run('machine', 'reserve', 'web/app-1', '--user', 'ada')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('its machine accepts only status, power, load, capture, unload'),
    });
    expect(await run('machine', 'show', 'web/app-3')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('the machine of node app-3 of cluster web has no recent operation'),
    });
    await until(
      'the cluster has its node back',
      async () => (await stack.client.status('web')).lease === undefined,
    );
    await stack.service.arm({ fault: 'http', status: 503, operation: 'power', hostname: 'web-*', count: 0 });
    expect(await run('machine', 'power', 'web/app-1', 'off', '--no-wait')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('next: heddle machine show web/app-1'),
    });
    await until('its trouble is told', async () =>
      /now: power off by [^]*stuck: POWER_OFF app-1 is being retried, attempt \d+/.test(
        (await run('machine', 'show', 'web/app-1')).stdout,
      ),
    );
    expect(await run('machine', 'cancel', 'web/app-1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('power off cancelled'),
    });
  });
});
