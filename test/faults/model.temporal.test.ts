import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, inject, it, vi } from 'vitest';
import { openHarness, type Harness } from '../harness/faults/harness.js';
import { playStories } from '../harness/faults/story.js';

vi.setConfig({ maxConcurrency: 6 });

// oxlint-disable-next-line node/no-process-env -- a hunt is asked for from outside: no configuration of the product
const { HEDDLE_SEED: wanted, HEDDLE_STORIES: lanes } = process.env;

const kept = JSON.parse(readFileSync(join(import.meta.dirname, 'seeds.json'), 'utf8')) as readonly {
  readonly seed: number;
  readonly why: string;
}[];
// The ordinary tests play the same ones each time; a hunt plays new ones.
const first = lanes === undefined ? 1 : Date.now() % 1_000_000;
const seeds =
  wanted === undefined
    ? Array.from({ length: Number(lanes ?? 4) }, (_, lane) => first + lane)
    : [Number(wanted)];

describe('scenarios of users in trouble', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await openHarness({
      temporalAddress: inject('temporalAddress'),
      workflowBundlePath: inject('workflowBundlePath'),
    });
  });
  afterAll(async () => {
    await harness.stop();
  });

  it.concurrent.each(seeds)('random, seed %i', async (seed) => {
    await playStories(harness, `s${seed}`, { seed, runs: 1, commands: 5 });
  });

  it.concurrent.each(kept)('seed $seed: $why', async ({ seed }) => {
    await playStories(harness, `k${seed}`, { seed, runs: 1, commands: 5 });
  });
});
