import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ChaosWorld, openWorld } from '../harness/chaos/chaos-world.js';
import { live } from '../harness/chaos/lives.js';
import { judgeEnd } from '../harness/chaos/oracle.js';
import { openRandom, seedOf, settingOf } from '../harness/chaos/random.js';
import { startOnSqlite } from '../harness/chaos/server.js';
import { newFolder } from '../harness/folder.js';

const rounds = settingOf('HEDDLE_ROUNDS', 3);

describe('workers that are stopped and started in turn, as in a deployment', () => {
  let folder: string;
  let world: ChaosWorld;
  beforeAll(async () => {
    folder = newFolder();
    world = await openWorld({
      server: await startOnSqlite(folder, inject('temporalBinary')),
      distPath: inject('distPath'),
      folder,
    });
  });
  afterAll(() => world.stop());

  it(`fail nothing and hold nothing in ${rounds} rounds`, { timeout: 900_000 }, async () => {
    const seed = seedOf();
    const random = openRandom(seed);
    let rolling = true;
    const slot = async (index: number): Promise<readonly string[]> => {
      const wrong: string[] = [];
      for (let count = 1; rolling; count += 1) {
        const report = await live(world, {
          name: `local-${index}-${count}`,
          account: 'local',
          random: random.fork(`${index}`),
          operations: 4,
          isOver: () => !rolling,
          say: () => undefined,
        });
        wrong.push(...report.wrong, ...report.held);
      }
      return wrong;
    };
    const slots = Promise.all([1, 2, 3].map(slot));
    for (let round = 1; round <= rounds; round += 1) await world.crew.roll();
    rolling = false;
    expect([...(await slots).flat(), ...(await judgeEnd(world))], `HEDDLE_SEED=${seed}`).toEqual([]);
  });
});
