import type { Client } from '@temporalio/client';
import { providerQueue, siteQueue } from '../model/names.js';
import type { PlannedPlacement } from '../model/node/placement.js';
import type { Plan } from '../model/plan/plan.js';
import { call } from './call.js';
import { HeddleError } from './errors.js';
import { isPolled } from './workers.js';

/**
 * Checks that a worker takes the tasks of each group that the plan works on: otherwise it would wait for one.
 * @throws HeddleError NoWorker
 */
export async function requireSites(temporal: Client, { kinds, placements }: Plan): Promise<void> {
  const busy = new Set(kinds.filter(({ chain }) => chain.length > 0).map(({ group }) => group));
  const isServed = remember((queue) =>
    call(temporal, `workers of queue ${queue}`, () => isPolled(temporal, queue), { waitMs: 10_000 }),
  );
  for (const group of busy) {
    const choices = placements[group] ?? [];
    const open = await Promise.all(choices.map((choice) => unserved(choice, isServed)));
    const [first] = choices;
    const queue = open[0];
    if (first === undefined || queue === undefined || open.includes(undefined)) continue;
    const alternatives = choices.length > 1 ? ', nor those of its alternatives' : '';
    throw new HeddleError(
      'NoWorker',
      `nodes.${group}: provider ${first.provider} is of site ${first.site}, and no worker polls its queue ${queue}${alternatives}; start one there, with \`site: ${first.site}\` in its heddle.yaml`,
      { next: 'heddle worker' },
    );
  }
}

/** The queue of a placement that no worker polls, if there is one. */
async function unserved(
  { site, provider }: PlannedPlacement,
  isServed: (queue: string) => Promise<boolean>,
): Promise<string | undefined> {
  for (const queue of [siteQueue(site), providerQueue(site, provider)])
    if (!(await isServed(queue))) return queue;
  return undefined;
}

function remember<Value>(ask: (key: string) => Promise<Value>): (key: string) => Promise<Value> {
  const known = new Map<string, Promise<Value>>();
  return (key) => {
    const value = known.get(key) ?? ask(key);
    known.set(key, value);
    return value;
  };
}
