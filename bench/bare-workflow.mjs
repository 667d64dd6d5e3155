import { proxyActivities } from '@temporalio/workflow';

const { empty } = proxyActivities({ startToCloseTimeout: '1 minute' });

/** As many chains at once, each of so many activities in order. */
export async function chains(count, length) {
  await Promise.all(
    Array.from({ length: count }, async () => {
      for (let step = 0; step < length; step += 1) await empty({ step });
    }),
  );
}
