import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../harness/until.js';
import { askSurely, outlast } from '../harness/chaos/ask.js';
import { writeBareAutomator } from '../harness/chaos/bare-automator.js';
import { type ChaosWorld, openWorld } from '../harness/chaos/chaos-world.js';
import { lagCloud } from '../harness/chaos/lag-cloud.js';
import { judgeCluster, judgeWhole } from '../harness/chaos/oracle.js';
import { startOnSqlite } from '../harness/chaos/server.js';
import { smallCluster } from '../harness/chaos/specs.js';
import { newFolder } from '../harness/folder.js';

// What the chaos runner would see if Heddle did not do what keeps its promises: the same kill, with and
// without.
describe('the oracle', () => {
  let folder: string;
  let world: ChaosWorld;
  beforeAll(async () => {
    folder = newFolder();
    const plugins = [await writeBareAutomator(folder)];
    world = await openWorld({
      server: await startOnSqlite(folder, inject('temporalBinary')),
      distPath: inject('distPath'),
      folder,
      plugins,
      accounts: ['patient', 'hasty'],
      workers: 1,
    });
  });
  afterAll(() => world.stop());
  const shape = { web: 1, config: 0, cache: false };

  async function killAll(): Promise<void> {
    await Promise.all(world.crew.alive().map(({ pid }) => world.crew.kill(pid)));
  }

  /** Applies, kills in the middle of START of `db`, and gives what the oracle says when all is done. */
  async function killInScript(name: string, automator: string): Promise<readonly string[]> {
    const { client } = world.stack;
    const spec = smallCluster(name, shape, { ...world.partsOf('local'), automator, seconds: 1.5 });
    const operation = await askSurely(client, name, () => client.apply(spec));
    const { uid } = await client.summary(name);
    await until(
      `START of ${name} runs`,
      async () => {
        const { history, operation: under } = await client.summary(name);
        if (history.length > 0 || under?.state === 'held')
          throw new Error(`${name} came to its end before: ${JSON.stringify(under ?? history)}`);
        return (await world.ledger.executions()).some(
          ({ clusterUid, action, ended }) => clusterUid === uid && action === 'START' && !ended,
        );
      },
      120_000,
    );
    await killAll();
    return judged(name, operation);
  }

  /** The CREATEs are accepted, their machines not yet listed, their answers lost with the worker. */
  async function killInCreate(): Promise<readonly string[]> {
    const { client, service } = world.stack;
    const name = 'patient-kill';
    await service.arm({ fault: 'list-lag', ms: lagCloud.lagMs, hostname: `${name}-*`, count: 2 });
    const held = await service.arm({
      fault: 'hold-answer',
      operation: 'create',
      hostname: `${name}-*`,
      count: 2,
    });
    const operation = await askSurely(client, name, () =>
      client.apply(smallCluster(name, shape, world.partsOf('patient'))),
    );
    const { uid } = await client.summary(name);
    // Not those that are held at this moment: CREATE gives its call up in time, and the two need not come
    // together.
    await until(
      `CREATEs of ${name} accepted`,
      async () =>
        (await world.machines.creations()).filter(({ key }) => key.startsWith(`${uid}/`)).length === 2,
    );
    await killAll();
    await service.release(held);
    return judged(name, operation);
  }

  async function judged(name: string, operation: string): Promise<readonly string[]> {
    const { client } = world.stack;
    const ended = await outlast(client, name, operation);
    expect(ended.operation.state).toBe('done');
    const wrong = [...(await judgeCluster(world, ended.status)), ...(await judgeWhole(world, ended.status))];
    await outlast(client, name, await askSurely(client, name, () => client.delete(name)));
    return wrong;
  }

  it('finds nothing if scripts use the once-only runner', async () => {
    expect(await killInScript('once', 'shell')).toEqual([]);
  });

  it('finds scripts that ran twice if they bypass the runner', async () => {
    const wrong = await killInScript('bare', 'bare');
    expect(wrong.length).toBeGreaterThan(0);
    expect(
      wrong.every((line) => /run .*\/START\/[0-9a-f]{12}\.1 was executed twice/.test(line)),
      wrong.join('\n'),
    ).toBe(true);
  });

  it('finds nothing if a provider declares how long its lists lag', async () => {
    expect(await killInCreate()).toEqual([]);
  });

  it('finds machines that were created twice if a provider does not declare it', async () => {
    const { client, service } = world.stack;
    const name = 'hasty-lost';
    await service.arm({ fault: 'list-lag', ms: 60_000, hostname: `${name}-*`, count: 0 });
    await service.arm({ fault: 'lose-answer', operation: 'create', hostname: `${name}-*`, count: 2 });
    const spec = smallCluster(name, shape, world.partsOf('hasty'));
    await askSurely(client, name, () => client.apply(spec));
    const { uid } = await client.summary(name);
    await until(
      'each is made once more',
      async () =>
        (await world.machines.creations()).filter(({ key }) => key.startsWith(`${uid}/`)).length >= 4,
    );
    await outlast(client, name, await askSurely(client, name, () => client.delete(name)));
    const wrong = await judgeCluster(world, await client.status(name));
    expect(wrong).toEqual(
      expect.arrayContaining([
        expect.stringContaining('two machines were made for key'),
        expect.stringMatching(/machines alive: m-.*; machines recorded: none/),
      ]),
    );
  });
});
