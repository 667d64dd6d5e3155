import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { closed } from '../harness/workflows/spec.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

const hourMs = 3_600_000;

let folder: string;
let clock: string;
let stack: Stack;
beforeAll(async () => {
  folder = newFolder();
  clock = join(folder, 'shift');
  writeFileSync(clock, '0');
  const preload = new URL('../harness/shift-clock.mjs', import.meta.url).href;
  stack = await startStack({ env: { NODE_OPTIONS: `--import ${preload}`, HEDDLE_TEST_CLOCK: clock } });
});

describe('a worker', () => {
  it.each([
    ['an hour ahead', hourMs, /clock of this host is 3600 s ahead of the Temporal server's/],
    ['an hour behind', -hourMs, /clock of this host is 3600 s behind the Temporal server's/],
  ])('does not start with a clock that is %s, and says so', async (_what, shiftMs, message) => {
    writeFileSync(clock, String(shiftMs));
    await expect(stack.startWorker(`shifted${shiftMs}`)).rejects.toThrow(message);
  });

  it('takes tasks with a clock within the bound, and ends once its clock has jumped beyond it', async () => {
    writeFileSync(clock, '20000');
    const worker = await stack.startWorker('jumps');
    const spec = closed({
      name: 'near',
      nodes: { app: { count: 1, provider: 'local', hardware: 'small', image: 'host' } },
    });
    const { operation } = await stack.client.apply(spec);
    await stack.client.waitFor('near', operation);
    writeFileSync(clock, String(hourMs));
    await until('the worker has ended', () => /accept no tasks/.test(worker.output()) && isOver(worker.pid));
  });
});

function isOver(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
