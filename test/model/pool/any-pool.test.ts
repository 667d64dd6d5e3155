import { describe, expect, it } from 'vitest';
import { addRequest, returnNodes } from '../../../src/model/pool/allocate.js';
import { endHold, nodeBuilt, nodeCleaned, nodeGone, nodeHealthy } from '../../../src/model/pool/outcome.js';
import { dueProbes } from '../../../src/model/pool/probe-first.js';
import { anyEvent, anyWanted, labels, World } from './any-world.js';
import { tell } from './support.js';
import { fc } from '../../harness/property.js';

describe('any pool', () => {
  it('never exceeds a limit, allocates no node twice, and follows the table of states', () => {
    fc.assert(
      fc.property(anyWanted, fc.array(anyEvent, { maxLength: 60 }), (wanted, events) => {
        const world = new World(wanted);
        for (const event of events) world.happen(event);
      }),
      { numRuns: 150 },
    );
  });

  it('serves or refuses every request eventually', () => {
    fc.assert(
      fc.property(anyWanted, fc.array(anyEvent, { maxLength: 40 }), (wanted, events) => {
        const world = new World(wanted);
        for (const event of events) world.happen(event);
        world.calmDown();
      }),
      { numRuns: 150 },
    );
  });

  it('converges to ready nodes of the newest image, and removes no more than one of them at a time', () => {
    fc.assert(
      fc.property(anyWanted, fc.array(anyEvent, { maxLength: 40 }), (wanted, events) => {
        const world = new World(wanted);
        for (const event of events) world.happen(event);
        world.calmDown();
        tell(world.pool, { cloud: 6, other: 6 });
        world.replaceAll();
      }),
      { numRuns: 60 },
    );
  });

  it('serves a large request although small ones keep arriving', () => {
    fc.assert(
      fc.property(
        anyWanted,
        fc.array(fc.constantFrom(...labels), { minLength: 2, maxLength: 3 }),
        fc.array(anyEvent, { maxLength: 20 }),
        (wanted, large, events) => {
          const world = new World(wanted);
          for (const event of events) world.happen({ ...event, priority: 100 });
          tell(world.pool, { cloud: 5, other: 5 });
          addRequest(world.pool, { id: 'large', labels: large, requester: 'test' }, world.now);
          world.settle(new Map());
          for (let round = 0; round < 400; round += 1) {
            const state = world.pool.requests['large']?.state;
            if (state === 'fulfilled' || state === 'failed' || state === undefined) return;
            // More of them than anybody gives back, and none of them is ever refused for good.
            for (const label of labels)
              addRequest(
                world.pool,
                { id: `small-${round}-${label}`, labels: [label], requester: 'test' },
                world.now,
              );
            world.now += 1_000;
            const { pool } = world;
            for (const { id, state: at, backing } of Object.values(pool.nodes)) {
              if (at === 'building' && backing === undefined) nodeBuilt(pool, id, world.now);
              if (at === 'deleting') nodeGone(pool, id, world.now);
              if (at === 'used') nodeCleaned(pool, id, world.now);
              if (at === 'hold') endHold(pool, id, world.now);
              if (at === 'failed') nodeHealthy(pool, id, world.now);
            }
            for (const { id } of dueProbes(pool, () => false, world.now).first)
              nodeHealthy(pool, id, world.now);
            const oldest = Object.values(pool.requests)
              .filter(({ state: at }) => at === 'fulfilled')
              .toSorted((left, right) => left.since - right.since)[0];
            if (oldest !== undefined) returnNodes(pool, oldest.id, 'returned', world.now);
            world.settle(new Map());
          }
          expect(world.pool.requests['large']).toBe('served');
        },
      ),
      { numRuns: 80 },
    );
  });
});
