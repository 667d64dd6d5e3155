import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { ping } from '../../src/worker/ping.js';

const hasPing = spawnSync('ping', ['-c', '1', '127.0.0.1']).status === 0;

describe('an ICMP echo', () => {
  const { signal } = new AbortController();

  it.skipIf(!hasPing)('is answered by a host that is there', async () => {
    expect(await ping('127.0.0.1', signal)).toBe(true);
  });

  it('says nothing of a host that is not known, or an address that is an option', async () => {
    expect(await ping('no-such-host.invalid', signal)).toBeUndefined();
    expect(await ping('-f', signal)).toBeUndefined();
  });

  it('says nothing if it is interrupted', async () => {
    expect(await ping('127.0.0.1', AbortSignal.abort())).toBeUndefined();
  });
});
