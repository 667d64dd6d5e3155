import type { TaskOutcome } from '../../src/model/node/task-request.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestService } from '../harness/local/service.js';
import { type MachineBench, openMachineBench, taskOn } from '../harness/activities/machines.js';

let service: TestService;
let bench: MachineBench;
beforeAll(async () => {
  service = await TestService.start(['--kind', 'directory']);
  bench = await openMachineBench(service, {
    descriptor: { idempotency: 'tag', callDeadlineMs: 1_500, consistencyWindowMs: 500 },
  });
});
afterAll(() => bench.close());

it('CREATE adopts the machine that an earlier task may have made, once lists must show it', async () => {
  await service.call('POST', '/v1/faults', { fault: 'list-lag', ms: 1_000, hostname: 'begun' });
  const { result } = await bench.run('CREATE', taskOn('begun'));
  const now = Date.now();
  const times = { scheduledTimestampMs: now, currentAttemptScheduledTimestampMs: now };
  const again = await bench.run('CREATE', taskOn('begun', {}, { createBegun: true }), 1, times);
  expect(again.result).toMatchObject({ providerid: result?.['providerid'] });
  const { body } = await service.call('GET', '/v1/journal?operation=create&limit=1000');
  expect((body as { readonly entries: readonly unknown[] }).entries).toHaveLength(1);
});

it('CREATE adopts no machine of its key that was made for something else', async () => {
  const { result } = await bench.run('CREATE', taskOn('other', {}, { placement: 'small' }));
  const now = Date.now();
  const times = { scheduledTimestampMs: now, currentAttemptScheduledTimestampMs: now };
  const again = (placement: string): Promise<TaskOutcome> =>
    bench.run('CREATE', taskOn('other', {}, { createBegun: true, placement }), 1, times);
  await expect(again('large')).rejects.toMatchObject({
    type: 'MachineFailed',
    message: expect.stringMatching(/: machine \S+ of key u\/other\/1 was created for/),
  });
  expect((await again('small')).result).toMatchObject({ providerid: result?.['providerid'] });
});
