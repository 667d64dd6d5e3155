import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { askSurely, outlast } from '../harness/chaos/ask.js';
import { type ChaosWorld, openWorld } from '../harness/chaos/chaos-world.js';
import { judgeCluster, judgeEnd } from '../harness/chaos/oracle.js';
import { settingOf } from '../harness/chaos/random.js';
import { startOnSqlite } from '../harness/chaos/server.js';
import { newFolder } from '../harness/folder.js';

const size = 25;
const wanted = settingOf('HEDDLE_ALARMS', size);

describe('workers that are silent for longer than a heartbeat timeout, and continue', () => {
  let folder: string;
  let world: ChaosWorld;
  beforeAll(async () => {
    folder = newFolder();
    world = await openWorld({
      // No run ends while the scripts wait for each other: before that, a run starts no further task.
      server: await startOnSqlite(folder, inject('temporalBinary'), 10_000),
      distPath: inject('distPath'),
      folder,
    });
  });
  afterAll(() => world.stop());

  /** Attempts after the first of all scripts that are under way. */
  async function alarms(): Promise<number> {
    const {
      raw: { pendingActivities },
    } = await world.stack.client.temporal.workflow.getHandle('cluster/alarms').describe();
    return (pendingActivities ?? []).reduce((sum, { attempt }) => sum + Math.max(0, (attempt ?? 1) - 1), 0);
  }

  it(`${wanted} of them execute nothing twice`, { timeout: 900_000 }, async () => {
    const {
      stack: { client },
      crew,
      ledger,
    } = world;
    const gate = join(folder, 'gate');
    const action = (body: string): object => ({
      type: 'shell',
      fields: { script: ledger.script(body), environment: { LEDGER: ledger.file } },
    });
    const spec = closed({
      name: 'alarms',
      nodes: { app: nodes(size, ['app']) },
      services: {
        app: {
          peers: 'none',
          actions: {
            install: action(':'),
            start: action(`while [ ! -e '${gate}' ]; do sleep 0.5; done`),
            stop: action(':'),
          },
        },
      },
    });
    const operation = await askSurely(client, 'alarms', () => client.apply(spec));
    await until(
      'all scripts run',
      async () => (await ledger.executions()).filter(({ action: of }) => of === 'START').length === size,
    );
    for (let count = await alarms(); count < wanted; count = await alarms()) {
      const pids = crew.alive().map(({ pid }) => pid);
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      // The server gives up all attempts; then their workers go on as if nothing had been, and others are
      // there, too.
      await until('the alarms', async () => (await alarms()) >= Math.min(wanted, count + size));
      for (const pid of pids) process.kill(pid, 'SIGCONT');
      await until(
        'the attempts that follow',
        async () => {
          const {
            raw: { pendingActivities },
          } = await client.temporal.workflow.getHandle('cluster/alarms').describe();
          return (pendingActivities ?? []).every(
            ({ lastHeartbeatTime, lastStartedTime }) =>
              Number(lastHeartbeatTime?.seconds ?? 0) >= Number(lastStartedTime?.seconds ?? 1),
          );
        },
        60_000,
      );
    }
    await writeFile(gate, '');
    const ended = await outlast(client, 'alarms', operation);
    expect(ended.operation).toMatchObject({ state: 'done', tasks: { failed: 0 } });
    expect(await judgeCluster(world, ended.status)).toEqual([]);
    expect((await ledger.executions()).filter(({ action: of }) => of === 'START')).toHaveLength(size);
    await outlast(client, 'alarms', await askSurely(client, 'alarms', () => client.delete('alarms')));
    expect(await judgeEnd(world)).toEqual([]);
  });
});
