import { condition, defineQuery, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';

const { empty } = proxyActivities({ startToCloseTimeout: '1 minute' });

/**
 * As many chains at once, each of so many activities in order.
 * @param {number} count
 * @param {number} length
 */
export async function chains(count, length) {
  await Promise.all(
    Array.from({ length: count }, async () => {
      for (let step = 0; step < length; step += 1) await empty({ step });
    }),
  );
}

/** Counts updates, and answers queries for their number. */
export async function counter() {
  let count = 0;
  setHandler(defineUpdate('add'), () => (count += 1));
  setHandler(defineQuery('count'), () => count);
  await condition(() => false);
}
