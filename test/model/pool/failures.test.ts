import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest } from '../../../src/model/pool/allocate.js';
import { mostCarried } from '../../../src/model/carried.js';
import { failuresOfLastDay, rememberFailure } from '../../../src/model/pool/failures.js';
import { cleanUpFailed, launchFailed, nodeBuilt, nodeUnhealthy } from '../../../src/model/pool/outcome.js';
import { returnNodes } from '../../../src/model/pool/allocate.js';
import { begin, offer, openPool, providerPool } from './support.js';
import type { PoolState } from '../../../src/model/pool/state.js';

const hour = 3_600_000;

function open(): PoolState {
  return openPool({
    labels: { a: { onReturn: 'reuse', cleanUp: { script: 'false' } } },
    providerPools: { main: providerPool({ a: offer() }, { launchAttempts: 20 }) },
  });
}

/** Fails the machine that is being created for a request. */
function fail(pool: PoolState, message: string, now: number): void {
  admit(pool, now);
  const node = Object.values(pool.nodes).find(({ state }) => state === 'building');
  if (node === undefined) throw new Error('no machine is being created');
  begin(pool, node.id);
  launchFailed(pool, node.id, { kind: 'Retryable', message }, now);
}

describe('failures of the last day', () => {
  it('each label, provider pool and reason has one entry, the newest first', () => {
    const pool = open();
    addRequest(pool, { id: 'one', labels: ['a'], requester: 'test' }, 1);
    fail(pool, 'CREATE a-1: no route', 2);
    fail(pool, 'timed out', 3);
    fail(pool, 'CREATE a-3: no route', 4);
    expect(failuresOfLastDay(pool, 5)).toEqual([
      {
        stage: 'launch',
        kind: 'Retryable',
        why: 'CREATE a-3: no route',
        label: 'a',
        providerPool: 'main',
        node: 'a-3',
        times: 2,
        firstAt: 2,
        at: 4,
      },
      expect.objectContaining({ why: 'timed out', node: 'a-2', times: 1 }),
    ]);
  });

  it('contain clean-ups and ready nodes that do not answer', () => {
    const pool = open();
    for (const id of ['one', 'two']) addRequest(pool, { id, labels: ['a'], requester: 'test' }, 1);
    admit(pool, 1);
    for (const id of Object.keys(pool.nodes)) {
      begin(pool, id);
      nodeBuilt(pool, id, 2);
    }
    returnNodes(pool, 'one', 'returned', 3);
    cleanUpFailed(pool, 'a-1', 'exit code 1', 4);
    pool.nodes['a-2'] = { ...pool.nodes['a-2']!, state: 'ready' };
    nodeUnhealthy(pool, 'a-2', 'does not answer', 5);
    expect(failuresOfLastDay(pool, 6)).toMatchObject([
      { stage: 'check', node: 'a-2', why: 'does not answer' },
      { stage: 'clean-up', node: 'a-1', why: 'exit code 1' },
    ]);
  });

  it('a failure is forgotten after a day, and failures never fill the state of a run', () => {
    const pool = open();
    addRequest(pool, { id: 'one', labels: ['a'], requester: 'test' }, 1);
    admit(pool, 1);
    const [node] = Object.values(pool.nodes);
    if (node === undefined) throw new Error('no node');
    for (let number = 0; number < 1_000; number += 1)
      rememberFailure(
        pool,
        node,
        { stage: 'launch', kind: 'Retryable', why: `${number} ${'x'.repeat(5_000)}` },
        number,
      );
    expect(failuresOfLastDay(pool, 1_000)).toHaveLength(200);
    expect(JSON.stringify(pool.recentFailures).length).toBeLessThan(mostCarried / 10);
    expect(failuresOfLastDay(pool, 24 * hour + 899)).toHaveLength(100);
    rememberFailure(pool, node, { stage: 'check', why: 'later' }, 25 * hour);
    expect(pool.recentFailures).toHaveLength(1);
  });
});
