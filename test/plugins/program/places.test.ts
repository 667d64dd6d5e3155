import { describe, expect, it } from 'vitest';
import { Semaphore } from '../../../src/plugins/program/places.js';

const never = new AbortController().signal;

describe('places', () => {
  it('are given out in the order in which they were asked for', async () => {
    const places = new Semaphore(1);
    const order: number[] = [];
    const enter = async (number: number): Promise<void> => {
      const leave = await places.take(never);
      order.push(number);
      leave();
      // Given back twice is given back once.
      leave();
    };
    const first = await places.take(never);
    const waiting = [1, 2, 3].map(enter);
    expect(order).toEqual([]);
    first();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
  });

  it('pass over who does not wait any more', async () => {
    const places = new Semaphore(1);
    const leave = await places.take(never);
    const gone = new AbortController();
    const lost = places.take(gone.signal);
    const next = places.take(never);
    gone.abort(new Error('no more time'));
    await expect(lost).rejects.toThrow('no more time');
    leave();
    (await next)();
    (await places.take(never))();
    await expect(places.take(AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  });
});
