import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestService } from '../harness/local/service.js';
import { until } from '../harness/until.js';
import { type MachineBench, openMachineBench, taskOn } from '../harness/activities/machines.js';

const hourMs = 3_600_000;

let service: TestService;
let bench: MachineBench;
beforeAll(async () => {
  service = await TestService.start(['--kind', 'directory']);
  bench = await openMachineBench(service, {
    descriptor: { idempotency: 'tag', callDeadlineMs: 1_500, consistencyWindowMs: 500 },
  });
});
afterAll(() => bench.close());
beforeEach(() => service.call('DELETE', '/v1/faults'));

async function calls(operation: string, hostname: string): Promise<number> {
  const { body } = await service.call('GET', `/v1/journal?operation=${operation}&limit=100000`);
  return (body as { readonly entries: readonly { readonly hostname?: string }[] }).entries.filter(
    (entry) => entry.hostname === hostname,
  ).length;
}

describe.each([
  { clock: 'an hour ahead of', serverMs: -hourMs },
  { clock: 'an hour behind', serverMs: hourMs },
])('a worker whose clock is $clock the server', ({ serverMs }) => {
  const hostname = `skewed${serverMs}`;

  it('creates one machine if the answer of CREATE was lost and the list lags', async () => {
    await service.call('POST', '/v1/faults', { fault: 'list-lag', ms: 1_000, hostname });
    await service.call('POST', '/v1/faults', { fault: 'lose-answer', operation: 'create', hostname });
    await expect(bench.run('CREATE', taskOn(hostname))).rejects.toThrow();
    const now = Date.now() + serverMs;
    const times = { scheduledTimestampMs: now - 1_000, currentAttemptScheduledTimestampMs: now };
    const { result } = await bench.run('CREATE', taskOn(hostname), 2, times);
    expect(result).toMatchObject({ providerid: expect.any(String) });
    expect(await calls('create', hostname)).toBe(1);
  });

  it('deletes a machine whose CREATE was cut, once lists must show it', async () => {
    const name = `cut${serverMs}`;
    await service.call('POST', '/v1/faults', { fault: 'list-lag', ms: 1_000, hostname: name });
    await bench.run('CREATE', taskOn(name));
    const now = Date.now() + serverMs;
    const times = { scheduledTimestampMs: now, currentAttemptScheduledTimestampMs: now };
    await until('it is deleted', () =>
      bench.run('DELETE', taskOn(name, { providerid: null }), 1, times).catch(() => undefined),
    );
    expect(await calls('delete', name)).toBe(1);
  });
});
