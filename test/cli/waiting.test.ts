import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { untilInterrupted } from '../../src/cli/waiting.js';

it('a command that waits for many things at once prints no warning of Node.js', async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  try {
    await untilInterrupted(
      (signal) => Promise.all(Array.from({ length: 20 }, () => pause(5, undefined, { signal }))),
      'a test',
      'heddle list',
    );
    await pause(10);
  } finally {
    process.off('warning', note);
  }
  expect(warnings).toEqual([]);
});
