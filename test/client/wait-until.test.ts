import { expect, it } from 'vitest';
import { waitUntil } from '../../src/client/entity-client.js';
import { HeddleError } from '../../src/client/errors.js';

const busy = (): Promise<never> => Promise.reject(new HeddleError('NoWorker', 'no worker has answered'));

it('waits for a workflow that makes progress, however long it answers no query', async () => {
  let asked = 0;
  const view = await waitUntil(
    () => {
      asked += 1;
      return asked < 6 ? busy() : Promise.resolve('done');
    },
    (seen) => seen,
    { everyMs: 30, patienceMs: 100 },
    () => Promise.resolve(`run ${asked}`),
  );
  expect([view, asked]).toEqual(['done', 6]);
});

it('ends with the error when nothing happens any more', async () => {
  for (const progress of [undefined, () => Promise.resolve('run 7'), busy])
    await expect(
      waitUntil(busy, () => undefined, { everyMs: 20, patienceMs: 60 }, progress),
    ).rejects.toMatchObject({ code: 'NoWorker' });
});
