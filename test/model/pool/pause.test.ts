import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest } from '../../../src/model/pool/allocate.js';
import { carryOutDue, nextDue } from '../../../src/model/pool/due.js';
import { launchFailed, nodeBuilt, nodeGone } from '../../../src/model/pool/outcome.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { viewPool } from '../../../src/model/pool/view.js';
import { begin, offer, openPool, providerPool } from './support.js';

const refusal = { kind: 'Quota', message: 'over quota' };

function open(): PoolState {
  const pool = openPool({
    labels: { huge: {}, small: {} },
    providerPools: { main: providerPool({ huge: offer(), small: offer() }) },
  });
  return pool;
}

function ask(pool: PoolState, id: string, label: string, now: number): void {
  addRequest(pool, { id, labels: [label], requester: 'test' }, now);
  admit(pool, now);
}

/** The account refuses each attempt; returns the length of each pause, in ms. */
function refuseAll(pool: PoolState, count: number, from: number): readonly number[] {
  let now = from;
  return Array.from({ length: count }, () => {
    const [node] = Object.values(pool.nodes).filter(({ state }) => state === 'building');
    launchFailed(pool, node?.id ?? '', refusal, now);
    admit(pool, now);
    const due = nextDue(pool, now) ?? 0;
    const pause = due - now;
    now = due;
    carryOutDue(pool, now);
    admit(pool, now);
    return pause;
  });
}

describe('the pause after a quota refusal', () => {
  it('doubles to five minutes, and starts again after a machine was made', () => {
    const pool = open();
    ask(pool, 'r', 'huge', 1);
    expect(refuseAll(pool, 7, 1).map((ms) => ms / 1_000)).toEqual([10, 20, 40, 80, 160, 300, 300]);
    const [node] = Object.values(pool.nodes);
    begin(pool, node?.id ?? '');
    nodeBuilt(pool, node?.id ?? '', 1e7);
    ask(pool, 's', 'huge', 1e7);
    expect(refuseAll(pool, 1, 1e7)).toEqual([10_000]);
  });

  it('counts refusals of machines that were requested together once', () => {
    const pool = open();
    for (const id of ['r', 's', 't']) ask(pool, id, 'huge', 1);
    for (const id of ['huge-1', 'huge-2', 'huge-3']) launchFailed(pool, id, refusal, 2);
    expect(nextDue(pool, 2)).toBe(10_002);
  });

  it('of a machine that never fits does not stop other labels of the account', () => {
    const pool = open();
    ask(pool, 'r', 'huge', 1);
    launchFailed(pool, 'huge-1', refusal, 2);
    admit(pool, 2);
    ask(pool, 's', 'small', 3);
    expect(pool.requests['r']).toMatchObject({ state: 'requested', waits: 'provider pool main: over quota' });
    expect(pool.requests['s']?.state).toBe('pending');
    expect(viewPool(pool, 3).providerPools['main']?.paused).toBe('over quota');
  });

  it('ends when a node of the account is gone', () => {
    const pool = open();
    ask(pool, 'x', 'small', 1);
    ask(pool, 'r', 'huge', 1);
    launchFailed(pool, 'huge-2', refusal, 2);
    admit(pool, 2);
    nodeGone(pool, 'small-1', 3);
    admit(pool, 3);
    expect(pool.requests['r']?.state).toBe('pending');
  });
});
