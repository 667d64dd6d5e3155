import { describe, expect, it } from 'vitest';
import {
  callsOf,
  createRateLimiter,
  type CallTimes,
  type RateLimiter,
} from '../../src/activities/provider/rate-limiter.js';

/** A row in this process's memory, by this process's clock. */
function openRow(): CallTimes & { readonly asked: number[] } {
  let freeAt = 0;
  const asked: number[] = [];
  return {
    asked,
    take({ count, everyMs }) {
      const first = Math.max(performance.now(), freeAt);
      freeAt = first + count * everyMs;
      asked.push(count);
      return Promise.resolve(first - performance.now());
    },
  };
}

const never = new AbortController().signal;

/** Has so many calls made by each, and gives when they were. */
async function callAll(rateLimiters: readonly RateLimiter[], each: number): Promise<readonly number[]> {
  const times: number[] = [];
  await Promise.all(
    rateLimiters.flatMap((rateLimiter) =>
      Array.from({ length: each }, async () => {
        await rateLimiter.take(new AbortController().signal);
        times.push(performance.now());
      }),
    ),
  );
  return times.toSorted((one, other) => one - other);
}

describe('the rate limiter of an account', () => {
  it('is shared by several workers', async () => {
    const slots = openRow();
    const perSecond = 40;
    const times = await callAll(
      [
        createRateLimiter({ account: 'a', perSecond, slots }),
        createRateLimiter({ account: 'a', perSecond, slots }),
      ],
      30,
    );
    expect(times).toHaveLength(60);
    for (const [from, begin] of times.entries()) {
      // A call may be late; none is early.
      for (const [to, end] of times.entries())
        if (to > from) expect(to - from).toBeLessThanOrEqual(((end - begin) / 1_000 + 1) * perSecond + 1);
    }
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1_400);
    expect(Math.max(...slots.asked)).toBeLessThanOrEqual(perSecond);
  });

  it('admits calls first that are already running', async () => {
    const order: string[] = [];
    const rateLimiter = createRateLimiter({ account: 'a', perSecond: 100, slots: openRow() });
    await Promise.all([
      rateLimiter.begin(never).then(() => order.push('first')),
      ...['begins', 'begins too'].map((word) => rateLimiter.begin(never).then(() => order.push(word))),
      rateLimiter.take(never).then(() => order.push('runs')),
    ]);
    expect(order).toEqual(['runs', 'first', 'begins', 'begins too']);
  });

  it('does not wait for cancelled calls, which use up no slot', async () => {
    const stop = new AbortController();
    const rateLimiter = createRateLimiter({ account: 'a', perSecond: 2, slots: openRow() });
    await rateLimiter.take(never);
    const left = rateLimiter.take(stop.signal);
    const stays = rateLimiter.take(never);
    stop.abort(new Error('cancelled'));
    await expect(left).rejects.toThrow('cancelled');
    await stays;
    await expect(rateLimiter.take(stop.signal)).rejects.toThrow('cancelled');
  });

  it('makes calls fail for now if it cannot be read, and is read again', async () => {
    const row = openRow();
    let fails = true;
    const rateLimiter = createRateLimiter({
      account: 'rack',
      perSecond: 100,
      slots: { take: (request) => (fails ? Promise.reject(new Error('no server')) : row.take(request)) },
    });
    await expect(Promise.all([rateLimiter.take(never), rateLimiter.begin(never)])).rejects.toMatchObject({
      kind: 'Retryable',
      message: 'the rate limiter of rack did not answer (no server)',
    });
    fails = false;
    await rateLimiter.take(never);
  });
});

describe('the calls of a task', () => {
  it('start with the one that waited; every other one counts', async () => {
    const slots = openRow();
    const rateLimiter = createRateLimiter({ account: 'a', perSecond: 1_000, slots });
    await rateLimiter.begin(never);
    const calls = callsOf(rateLimiter, never, performance.now());
    await calls.take();
    expect(slots.asked).toEqual([1]);
    await calls.take();
    expect(slots.asked).toEqual([1, 1]);
  });

  it('wait again after a long pause', async () => {
    const slots = openRow();
    const rateLimiter = createRateLimiter({ account: 'a', perSecond: 1_000, slots });
    await callsOf(rateLimiter, never, performance.now() - 60_000).take();
    expect(slots.asked).toEqual([1]);
  });
});
