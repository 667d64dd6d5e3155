import { it } from 'vitest';
import { reservationsWorkflowId } from '../../src/model/names.js';
import { openGround } from '../harness/machine/ground.js';
import { inStudio } from '../harness/histories/studio.js';

// Records what replay.test.ts replays, as histories.record.ts does.
const patience = { everyMs: 100 } as const;

it('records reservations, and a machine that is in two of them', () =>
  inStudio({ kind: 'sandbox' }, async ({ stack, keep }) => {
    const { reservations } = stack.client;
    const { add } = openGround(stack);
    await add('one');
    await add('two');
    const block = await reservations.create({ image: 'host', user: 'ada', count: 2, for: '1h' });
    await reservations.waitUntil(block.id, ({ state }) => state === 'ready', patience);
    const next = await reservations.create({
      image: 'host',
      user: 'bob',
      machines: ['one'],
      from: new Date(Date.now() + 7_200_000).toISOString(),
      for: '1h',
    });
    await reservations.logIn(block.id, patience);
    await reservations.extend(block.id, Date.parse(block.to) + 60_000);
    await reservations.return(block.id);
    await reservations.waitUntil(block.id, ({ state }) => state === 'returned', patience);
    await reservations.cancel(next.id);
    const unused = await reservations.create({ image: 'host', user: 'cy', machines: ['one'], for: '1h' });
    await reservations.waitUntil(unused.id, ({ state }) => state === 'ready', patience);
    await reservations.return(unused.id);
    await reservations.waitUntil(unused.id, ({ state }) => state === 'returned', patience);
    await keep('reservations', reservationsWorkflowId);
    await keep('machine-reserved', 'machine/one');
  }));
