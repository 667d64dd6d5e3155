import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { loadConfig, type Config } from '../../src/config/index.js';
import { changes, watchFile } from '../../src/config/watch-file.js';
import type { Activities } from '../../src/model/activities.js';
import { formatIdentity, readIdentity, reloadLines } from '../../src/model/worker-identity.js';
import { followConfig, type ConfigOutcome } from '../../src/worker/follow-config.js';
import { replaceable } from '../../src/worker/replaceable.js';
import { reloadConfig } from '../../src/worker/reload-config.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
beforeAll(() => {
  folder = newFolder();
});

test('an attempt ends with the activities with which it began', async () => {
  let end = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const of = (name: string): Activities => ({ PLAN: () => held.then(() => name) }) as unknown as Activities;
  const { activities, replace } = replaceable(of('first'));
  const plan = activities.PLAN as unknown as () => Promise<string>;
  const running = plan();
  replace(of('second'));
  end();
  expect([await running, await plan()]).toEqual(['first', 'second']);
});

describe('a file that is watched', () => {
  test('counts as changed once two reads agree, and not while it is written', () => {
    const isChange = changes({ text: 'a' });
    const reads = ['a', 'a b', 'a b c', 'a b c', 'a b c', 'a', 'a b c', 'a b c', 'a', 'a'];
    const told = reads.map((text) => isChange({ text }));
    expect(told.flatMap((one, index) => (one ? [index] : []))).toEqual([3, 9]);
  });

  test('is followed when it is replaced, and when it is gone', async () => {
    const file = join(folder, 'watched');
    await writeFile(file, 'a\n');
    const seen: (string | undefined)[] = [];
    const stop = watchFile(file, async (missing) => void seen.push(missing ?? 'changed'), 20);
    await writeFile(join(folder, 'new'), 'b\n');
    await rename(join(folder, 'new'), file);
    await until('the replacement', () => seen.length === 1);
    await rm(file);
    await until('its absence', () => seen.length === 2);
    stop();
    expect(seen[0]).toBe('changed');
    expect(seen[1]).not.toBe('changed');
  });
});

test('a worker reports a change that it could not apply completely', async () => {
  const file = join(folder, 'followed.yaml');
  await writeFile(file, 'loadsAtOnce: 1\n');
  const outcomes: ConfigOutcome[] = [];
  const quiet = () => undefined;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const stop = followConfig(
      { file, site: 'default' },
      () => loadConfig({ configFlag: file, env: { HOME: folder } }),
      {
        reload: () => ({
          workers: [],
          restart: [],
          apply: () => Promise.reject(new Error('the account cannot be closed')),
        }),
        refuse: quiet,
      },
      {
        done: new Promise(quiet),
        names: () => [],
        isEnding: () => false,
        stopOthers: async () => undefined,
        startMissing: async () => undefined,
        shutdown: quiet,
      },
      { info: quiet, warn: quiet, error: quiet },
      (outcome) => outcomes.push(outcome),
    );
    await writeFile(file, 'loadsAtOnce: 2\n');
    await vi.advanceTimersByTimeAsync(6_000);
    stop();
  } finally {
    vi.useRealTimers();
  }
  expect(outcomes).toEqual([{ became: 'failed', why: 'the account cannot be closed' }]);
});

describe('a configuration that changes', () => {
  const read = async (text: string, env: Readonly<Record<string, string>> = {}): Promise<Config> => {
    const file = join(folder, 'heddle.yaml');
    await writeFile(file, text);
    return loadConfig({ configFlag: file, env: { HOME: folder, ...env } });
  };

  test('gives a running worker accounts and limits, and leaves it its site and folders', async () => {
    const current = await read('providers: {one: {type: local}}\n');
    const text = 'site: far\nstore: {logDays: 5}\nscale: {inFlight: 7}\nproviders: {two: {type: local}}\n';
    const next = await read(text, { HEDDLE_SITE: current.site });
    const { config, restart } = reloadConfig(current, next, await read(text));
    expect(config).toMatchObject({ site: 'default', scale: { inFlight: 7 }, store: { logDays: 90 } });
    expect(config.providers).toMatchObject({ two: { site: 'default' } });
    expect(Object.keys(config.providers)).toEqual(['two']);
    expect(restart).toEqual(['site', 'store']);
    expect(reloadConfig(config, current, current).restart).toEqual([]);
  });

  test('applies what activities read, and names what needs a restart', async () => {
    const current = await read('');
    const next = await read(
      [
        'loadsAtOnce: 2\nquarantineAfter: 0\nsweep: {delete: true}\nreservations: {longest: 1h}\nsecrets: {allow: []}',
        'pluginLimits: {mine: {time: 1m}}\nbuilder: {builds: 2}\nmetrics: {address: "127.0.0.1:9464"}\nstackTraces: true',
      ].join('\n'),
    );
    const { config, restart } = reloadConfig(current, next, next);
    expect(restart).toEqual(['builder', 'metrics', 'pluginLimits', 'stackTraces']);
    const { loadsAtOnce, quarantineAfter, sweep, reservations, secrets } = next;
    expect(config).toEqual({
      ...current,
      ...{ loadsAtOnce, quarantineAfter, sweep, reservations, secrets },
      ...{ locate: next.locate, origins: next.origins },
    });
    expect([config.sweep.every, config.reservations.longest]).toEqual([900, 3_600]);
  });

  test('is reported for each worker that has not taken over all of it', () => {
    const identity = formatIdentity(
      { worker: '1@a', config: { scale: 'x' }, reload: { restart: ['keys', 'store'], refused: true } },
      'c',
    );
    expect(readIdentity(identity).config).toEqual({ config: 'c', scale: 'x' });
    expect(reloadLines([identity, formatIdentity({ worker: '2@a' }, 'c')])).toEqual([
      'worker 1@a: heddle.yaml changed and is invalid or missing, so the previous configuration stays in effect',
      'worker 1@a: a restart is needed for changed settings: keys, store',
    ]);
  });
});
