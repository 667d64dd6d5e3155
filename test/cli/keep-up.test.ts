import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepUp } from '../../src/cli/system/keep-up.js';
import { launch, type Launched } from '../../src/server/launch.js';
import { newFolder } from '../harness/folder.js';
import { until } from '../harness/until.js';

test('a process whose restart is requested while it starts is started once more', async () => {
  const logFile = join(newFolder(), 'kept.log');
  const launched: Launched[] = [];
  let finishStart = (): void => undefined;
  const second = new Promise<void>((resolve) => {
    finishStart = resolve;
  });
  let timesBack = 0;
  const kept = await keepUp({
    name: 'sleeper',
    logFile,
    say: () => undefined,
    onBack: () => (timesBack += 1),
    launch: async () => {
      const child = await launch('/bin/sleep', ['600'], { logFile });
      launched.push(child);
      return child;
    },
    isReady: async () => {
      if (launched.length === 2) await second;
      return true;
    },
  });
  try {
    await kept.restart();
    await until('the second start', () => launched.length === 2);
    await kept.restart();
    finishStart();
    await until('the process after the second', () => timesBack === 1);
    expect(launched.map(({ pid }) => pid)).toHaveLength(3);
    expect(kept.pid()).toBe(launched[2]?.pid);
    await launched[1]?.ended;
  } finally {
    await kept.stop();
  }
  await launched[2]?.ended;
});
