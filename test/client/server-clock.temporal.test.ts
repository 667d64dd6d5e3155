import { Connection } from '@temporalio/client';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { serverTime } from '../../src/client/server-clock.js';

const hourMs = 3_600_000;

describe('the time by which a client seals messages', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('is that of the server, whatever the clock of its host says, also after the host has slept', async () => {
    const realNow = Date.now;
    const monotonic = performance.now.bind(performance);
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    const isExact = async (): Promise<void> =>
      expect(Math.abs((await serverTime(connection, 'default')) - realNow())).toBeLessThan(20_000);
    try {
      const wall = vi.spyOn(Date, 'now').mockImplementation(() => realNow() - hourMs);
      await isExact();
      // It sleeps for an hour, while its monotonic clock stands still.
      vi.spyOn(performance, 'now').mockImplementation(() => monotonic() - hourMs);
      await isExact();
      wall.mockImplementation(() => realNow() + hourMs);
      await isExact();
    } finally {
      await connection.close();
    }
  });

  it('is that of its host for a minute if the server does not show its own, without another measurement', async () => {
    const realNow = Date.now;
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    try {
      const poll = vi
        .spyOn(connection.workflowService, 'pollActivityTaskQueue')
        .mockImplementation(() => Promise.reject(new Error('not permitted')));
      const look = vi.spyOn(connection.workflowService, 'describeTaskQueue');
      look.mockImplementation(() => Promise.resolve({ pollers: [] } as never));
      for (let time = 0; time < 3; time += 1) {
        const now = await serverTime(connection, 'default');
        expect(Math.abs(now - realNow())).toBeLessThan(20_000);
      }
      expect(poll).toHaveBeenCalledTimes(1);
      vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 61_000);
      await serverTime(connection, 'default');
      expect(poll).toHaveBeenCalledTimes(2);
    } finally {
      await connection.close();
    }
  });
});
