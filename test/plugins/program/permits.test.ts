import pLimit from 'p-limit';
import { describe, expect, it } from 'vitest';
import { takePermit } from '../../../src/plugins/program/pool.js';

const never = new AbortController().signal;

describe('takePermit', () => {
  it('grants permits in the order of the requests', async () => {
    const limit = pLimit(1);
    const order: number[] = [];
    const enter = async (number: number): Promise<void> => {
      const release = await takePermit(limit, never);
      order.push(number);
      release();
      // A second release has no effect.
      release();
    };
    const first = await takePermit(limit, never);
    const waiting = [1, 2, 3].map(enter);
    expect(order).toEqual([]);
    first();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
  });

  it('skips requests whose signal is aborted', async () => {
    const limit = pLimit(1);
    const release = await takePermit(limit, never);
    const gone = new AbortController();
    const lost = takePermit(limit, gone.signal);
    const next = takePermit(limit, never);
    gone.abort(new Error('no more time'));
    await expect(lost).rejects.toThrow('no more time');
    release();
    (await next)();
    (await takePermit(limit, never))();
    await expect(takePermit(limit, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  });
});
