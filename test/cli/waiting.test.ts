import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { untilEnd, printNew } from '../../src/cli/waiting.js';

it('a command that waits for many things at once prints no warning of Node.js', async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  try {
    await untilEnd({
      what: 'a test',
      next: 'heddle list',
      end: (signal) => Promise.all(Array.from({ length: 20 }, () => pause(5, undefined, { signal }))),
    });
    await pause(10);
  } finally {
    process.off('warning', note);
  }
  expect(warnings).toEqual([]);
});

it('a time limit ends the wait with what the work waits for, and not the work', async () => {
  let isEnded = false;
  const work = pause(200).then(() => (isEnded = true));
  await expect(
    untilEnd({
      what: 'operation 3 of web',
      next: 'heddle status web',
      timeout: 20,
      end: () => work,
      obstacles: () => Promise.resolve(['stuck: no worker polls', 'the builder is busy']),
    }),
  ).rejects.toMatchObject({
    code: 'Failed',
    message:
      'operation 3 of web did not end within 0.0 s, and continues: stuck: no worker polls; the builder is busy',
    next: 'heddle status web',
  });
  await work;
  expect(isEnded).toBe(true);
});

it('a time limit beyond the longest timer does not end the wait at once', async () => {
  const end = (): Promise<string> => pause(20, 'done');
  await expect(untilEnd({ what: 'a test', next: '', timeout: 2 ** 40, end })).resolves.toBe('done');
});

it('an obstacle is printed again only after it was gone; other numbers are the same obstacle', () => {
  const printed: string[] = [];
  const print = printNew({ line: (text) => void printed.push(text ?? '') });
  for (const lines of [['10 % done'], ['20 % done', 'slow'], [], ['30 % done']]) print(lines);
  expect(printed).toEqual(['10 % done', 'slow', '30 % done']);
});
