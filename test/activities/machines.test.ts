import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { machineKey } from '../../src/model/names.js';
import type { Provider } from '../../src/plugins/contract.js';
import { TestService } from '../harness/local/service.js';
import { until } from '../harness/until.js';
import { account, type MachineBench, openMachineBench, taskOn } from '../harness/activities/machines.js';

let service: TestService;
let bench: MachineBench;
beforeAll(async () => {
  service = await TestService.start(['--kind', 'directory']);
  bench = await openMachineBench(service);
});
afterAll(() => bench.close());
beforeEach(() => service.call('DELETE', '/v1/faults'));

interface Entry {
  readonly key?: string;
  readonly hostname?: string;
  readonly repeated?: true;
}

async function journal(operation: string, hostname: string): Promise<readonly Entry[]> {
  const { body } = await service.call('GET', `/v1/journal?operation=${operation}&limit=100000`);
  return (body as { readonly entries: readonly Entry[] }).entries.filter(
    (entry) => entry.hostname === hostname,
  );
}

async function failureOf(attempt: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await attempt.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof ApplicationFailure) return error;
  throw error;
}

describe('CREATE that adopts a machine', () => {
  it('returns what the original CREATE returned, under the key of the previous run, and creates nothing', async () => {
    const made = await bench.run('CREATE', taskOn('heir', {}, { clusterUid: 'earlier' }));
    const taken = await bench.run(
      'CREATE',
      taskOn('heir', {}, { clusterUid: 'later', keyUid: 'earlier', adopt: true }),
    );
    expect(taken.result).toEqual(made.result);
    expect(taken.result).toMatchObject({
      providerid: expect.any(String),
      'ssh-auth': { user: expect.any(String) },
    });
    expect(await journal('create', 'heir')).toMatchObject([{ key: machineKey('earlier', 'heir', 1) }]);
  });

  it('uses only the key of the previous run for DELETE', async () => {
    await bench.run('CREATE', taskOn('heirless', {}, { clusterUid: 'earlier' }));
    await until('it is gone', () =>
      bench
        .run('DELETE', taskOn('heirless', { providerid: null }, { clusterUid: 'later', keyUid: 'earlier' }))
        .catch(() => undefined),
    );
    expect((await journal('delete', 'heirless')).filter(({ repeated }) => repeated !== true)).toMatchObject([
      { key: machineKey('earlier', 'heirless', 1) },
    ]);
  });

  it('fails without retries and names a remedy if the machine is gone', async () => {
    const failure = await failureOf(bench.run('CREATE', taskOn('nobody', {}, { adopt: true })));
    expect(failure).toMatchObject({
      type: 'Invalid',
      nonRetryable: true,
      message: expect.stringMatching(/u\/nobody\/1 no longer exists.*Replace the node/),
    });
    expect(await journal('create', 'nobody')).toEqual([]);
  });

  it("looks twice if the provider's list may lag", async () => {
    const slow = await openMachineBench(service, {
      like: bench,
      descriptor: { idempotency: 'tag', consistencyWindowMs: 300 },
    });
    try {
      const task = taskOn('nobody-2', {}, { adopt: true });
      expect(await failureOf(slow.run('CREATE', task))).toMatchObject({
        type: 'NotReady',
        nonRetryable: false,
      });
      expect(
        await until('it is believed', async () => {
          const failure = await failureOf(slow.run('CREATE', task, 2));
          return failure.type === 'Invalid' && failure;
        }),
      ).toMatchObject({ nonRetryable: true });
    } finally {
      await slow.close();
    }
  });

  it('fails without retries if the provider cannot find the machine or repeat its result', async () => {
    await bench.run('CREATE', taskOn('mute'));
    const forgetful = await withAbilities((provider) => ({
      find: async (key: string) =>
        ((await provider.find?.(key)) ?? []).map(({ created: _lost, ...machine }) => machine),
    }));
    const blind = await withAbilities(() => ({ find: undefined }));
    try {
      expect(await failureOf(forgetful.run('CREATE', taskOn('mute', {}, { adopt: true })))).toMatchObject({
        type: 'Invalid',
        message: expect.stringContaining('does not return the result of CREATE of machine'),
        details: [{ result: { providerid: expect.any(String) } }],
      });
      expect(await failureOf(blind.run('CREATE', taskOn('mute', {}, { adopt: true })))).toMatchObject({
        type: 'Invalid',
        message: expect.stringContaining('cannot find the machine of key u/mute/1'),
      });
    } finally {
      await Promise.all([forgetful.close(), blind.close()]);
    }
  });

  /** The plugin `local` with an ability less. */
  async function withAbilities(
    change: (
      provider: Provider & {
        find?: (
          key: string,
        ) => Promise<readonly { readonly providerid: string; readonly created?: object }[]>;
      },
    ) => object,
  ): Promise<MachineBench> {
    const { registry } = bench.parts;
    return openMachineBench(service, {
      like: bench,
      changes: {
        registry: {
          ...registry,
          provider: (type) => {
            const plugin = registry.provider(type);
            return {
              ...plugin,
              create: (context) => {
                const provider = plugin.create(context);
                return Object.assign(Object.create(provider) as typeof provider, change(provider));
              },
            };
          },
        },
      },
    });
  }
});

describe('DELETE', () => {
  it('finds a machine whose id has changed, or two of them, by the key', async () => {
    const key = machineKey('u', 'twin', 1);
    const plant = async (token: string): Promise<string> => {
      const body = {
        key,
        token: `token-of-${token}`,
        hostname: 'twin',
        flavor: 'tiny',
        image: 'host',
        tags: {},
      };
      const { body: made } = await service.call('POST', '/v1/machines', body);
      return (made as { readonly id: string }).id;
    };
    const ids = [await plant('one'), await plant('two')];
    const deleted = async (): Promise<readonly unknown[]> => await journal('delete', 'twin');
    const task = taskOn('twin', { providerid: 'm-of-before' });
    expect((await failureOf(bench.run('DELETE', task))).message).toContain(ids[0]);
    await until('both are gone', () =>
      bench.run('DELETE', task).then(
        () => true,
        () => undefined,
      ),
    );
    // Of the one that nobody knew of, being on its way is enough.
    await until('neither is shown', async () => {
      const { body } = await service.call('GET', '/v1/machines');
      return (body as { readonly machines: readonly { readonly id: string }[] }).machines.every(
        ({ id }) => !ids.includes(id),
      );
    });
    expect((await deleted()).length).toBeGreaterThanOrEqual(2);
  });

  it("ends once absence was observed, if the provider's list does not lag", async () => {
    const { result = {} } = await bench.run('CREATE', taskOn('quick'));
    const task = taskOn('quick', result);
    await until('it is gone', () =>
      bench.run('DELETE', task).then(
        () => true,
        () => undefined,
      ),
    );
    expect(await bench.run('DELETE', task)).toMatchObject({ result: {} });
  });

  it('ends once absence was observed twice, a consistency window apart, if the list lags', async () => {
    const windowMs = 1_000;
    const slow = await openMachineBench(service, {
      like: bench,
      descriptor: { consistencyWindowMs: windowMs },
    });
    try {
      const { result = {} } = await slow.run('CREATE', taskOn('slow'));
      const task = taskOn('slow', result);
      const failures: string[] = [];
      let missedAt = 0;
      await until('it is gone', async () => {
        const failure = await slow.run('DELETE', task).then(
          () => undefined,
          (error: unknown) => error as ApplicationFailure,
        );
        if (failure?.message.includes('is checked again') === true && missedAt === 0) missedAt = Date.now();
        if (failure !== undefined) failures.push(`${failure.type} ${failure.nonRetryable}`);
        return failure === undefined;
      });
      expect(missedAt).toBeGreaterThan(0);
      expect(Date.now() - missedAt).toBeGreaterThanOrEqual(windowMs - 50);
      expect(new Set(failures)).toEqual(new Set(['NotReady false']));
    } finally {
      await slow.close();
    }
  });

  it('deletes a machine that the list did not show yet', async () => {
    const slow = await openMachineBench(service, { like: bench, descriptor: { consistencyWindowMs: 1_500 } });
    try {
      await service.call('POST', '/v1/faults', { fault: 'list-lag', ms: 1_000, hostname: 'unseen' });
      await slow.run('CREATE', taskOn('unseen'));
      // Its id was lost with the attempt; the list shows nothing at first.
      await until('it is gone', () =>
        slow.run('DELETE', taskOn('unseen')).then(
          () => true,
          () => undefined,
        ),
      );
      // While it is on its way out it is asked for again.
      expect((await journal('delete', 'unseen')).length).toBeGreaterThan(0);
    } finally {
      await slow.close();
    }
  });
});

describe('FIND_MACHINES', () => {
  it('returns the machines of a cluster of this name by their keys, and no others', async () => {
    const made = await bench.run('CREATE', taskOn('kin-1', {}, { clusterUid: 'first', clusterId: 'kin' }));
    await bench.run(
      'CREATE',
      taskOn('kin-2', {}, { clusterUid: 'second', clusterId: 'kin', incarnation: 7 }),
    );
    await bench.run('CREATE', taskOn('kin-3', {}, { clusterUid: 'second', clusterId: 'other' }));
    const tags = { 'heddle-installation': 'installation', 'heddle-cluster': 'kin' };
    await service.create({
      hostname: 'foreign',
      key: 'first/kin-9/1',
      tags: { ...tags, 'heddle-installation': 'another' },
    });
    await service.create({ hostname: 'malformed', key: 'no-key', tags });
    await service.create({ hostname: 'zero', key: 'first/kin-9/0', tags });
    const { machines, unable } = await bench.looks.FIND_MACHINES({ clusterId: 'kin', provider: account });
    expect(unable).toBeUndefined();
    expect(machines).toHaveLength(2);
    expect(machines).toEqual(
      expect.arrayContaining([
        {
          providerid: made.result?.['providerid'],
          keyUid: 'first',
          nodeId: 'kin-1',
          incarnation: 1,
          state: expect.stringMatching(/starting|running/),
          createdAt: expect.any(String),
        },
        expect.objectContaining({ keyUid: 'second', nodeId: 'kin-2', incarnation: 7 }),
      ]),
    );
    const byUid = await bench.looks.FIND_MACHINES({ clusterId: 'kin', provider: account, uids: ['second'] });
    expect(byUid.machines.map(({ nodeId }) => nodeId).toSorted()).toEqual(['kin-1', 'kin-2', 'kin-3']);
  });

  it('reports that the provider cannot list its machines', async () => {
    const { registry } = bench.parts;
    const blind = await openMachineBench(service, {
      like: bench,
      changes: {
        registry: { ...registry, provider: (type) => ({ ...registry.provider(type), abilities: [] }) },
      },
    });
    try {
      expect(await blind.looks.FIND_MACHINES({ clusterId: 'kin', provider: account })).toEqual({
        machines: [],
        unable: 'provider type local cannot list its machines',
      });
    } finally {
      await blind.close();
    }
  });
});
