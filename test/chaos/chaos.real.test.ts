import { env } from 'node:process';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { type ChaosWorld, openWorld } from '../harness/chaos/chaos-world.js';
import { findPostgres, startOnPostgres } from '../harness/chaos/postgres.js';
import { seedOf, settingOf } from '../harness/chaos/random.js';
import { describeReport, runChaos } from '../harness/chaos/run-chaos.js';
import { type MortalServer, startOnSqlite } from '../harness/chaos/server.js';
import { newFolder } from '../harness/folder.js';

const postgres = findPostgres();

/** `npm run test:real` runs it by itself: what is killed has to start again and again. */
const unasked = env['HEDDLE_KILLS'] === undefined;
const kills = settingOf('HEDDLE_KILLS', 0);

describe.skipIf(unasked)('clusters whose workers and server are killed many times', () => {
  let folder: string;
  let world: ChaosWorld | undefined;
  afterEach(() => world?.stop());

  async function kill(count: number, start: (folder: string) => Promise<MortalServer>): Promise<void> {
    folder = newFolder();
    const seed = seedOf(1);
    const print = (line: string): boolean => process.stderr.write(`chaos: ${line}\n`);
    print(`seed ${seed}`);
    world = await openWorld({ server: await start(folder), distPath: inject('distPath'), folder });
    const report = await runChaos(world, { kills: count, seed, say: print });
    print(describeReport(report));
    expect(report.wrong, describeReport(report)).toEqual([]);
  }

  it('finish on SQLite', { timeout: 1_800_000 }, () =>
    kill(kills, (parent) => startOnSqlite(parent, inject('temporalBinary'))),
  );

  it.skipIf('missing' in postgres)(
    `finish on PostgreSQL${'missing' in postgres ? ` (left out: ${postgres.missing})` : ''}`,
    { timeout: 1_800_000 },
    async () => {
      if ('missing' in postgres) return;
      await kill(Math.ceil(kills / 5), (parent) => startOnPostgres(parent, postgres));
    },
  );
});
