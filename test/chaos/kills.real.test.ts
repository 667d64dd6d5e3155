import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ChaosWorld, openWorld } from '../harness/chaos/chaos-world.js';
import { seedOf, settingOf } from '../harness/chaos/random.js';
import { describeReport, runChaos } from '../harness/chaos/run-chaos.js';
import { startOnSqlite } from '../harness/chaos/server.js';

/** HEDDLE_KILLS asks for it, as npm run test:real does. */
const unasked = env['HEDDLE_KILLS'] === undefined;

describe.skipIf(unasked)('clusters whose workers and server are killed', () => {
  let folder: string;
  let world: ChaosWorld;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'heddle-chaos-'));
    world = await openWorld({
      server: await startOnSqlite(folder, inject('temporalBinary')),
      distPath: inject('distPath'),
      folder,
    });
  });
  afterAll(async () => {
    await world.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('finish with no machine too many and no script executed twice', { timeout: 900_000 }, async () => {
    const said: string[] = [];
    const report = await runChaos(world, {
      kills: settingOf('HEDDLE_KILLS', 20),
      seed: seedOf(1),
      clusters: 4,
      say: (line) => said.push(line),
    });
    expect(report.wrong, `${describeReport(report)}\n${said.join('\n')}`).toEqual([]);
  });
});
