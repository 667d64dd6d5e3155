import { expect, it } from 'vitest';
import { inBatches } from '../../src/worker/in-batches.js';

it('sends what arrives during a call with the next one, and gives each caller its own result', async () => {
  const calls: (readonly number[])[] = [];
  const double = inBatches<number, number>(2, async (items) => {
    calls.push(items);
    await Promise.resolve();
    return items.map((item) => item * 2);
  });
  expect(await Promise.all([1, 2, 3, 4, 5].map(double))).toEqual([2, 4, 6, 8, 10]);
  expect(calls).toEqual([[1, 2], [3, 4], [5]]);
  expect(await double(6)).toBe(12);
});

it('fails only the items of a call that failed', async () => {
  const send = inBatches<string, string>(1, (items) =>
    items[0] === 'bad' ? Promise.reject(new Error('no answer')) : Promise.resolve(items),
  );
  const results = await Promise.allSettled([send('bad'), send('good')]);
  expect(results).toMatchObject([
    { status: 'rejected', reason: { message: 'no answer' } },
    { status: 'fulfilled', value: 'good' },
  ]);
});
