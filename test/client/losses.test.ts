import { describe, expect, it } from 'vitest';
import { lossesOf } from '../../src/client/losses.js';
import type { NodeSummary } from '../../src/model/plan/facts/current.js';
import type { Kind } from '../../src/model/plan/plan.js';

const removal = (group: string, first: number, last: number): Kind => ({
  group,
  purpose: 'remove',
  nodes: [[first, last]],
  services: [],
  chain: [{ action: 'DELETE' }],
});
const row = (group: string, index: number, facts: Partial<NodeSummary['facts']> = {}): NodeSummary => ({
  group,
  nodes: [[index, index]],
  facts: { CONFIRM: true, services: {}, ...facts },
});
const current = {
  nodes: [
    row('app', 1),
    row('app', 2, { seen: 'gone' }),
    row('app', 3, { CONFIRM: undefined }),
    row('db', 1),
    row('own', 1),
  ],
  services: {},
};
const plan = {
  kinds: [
    removal('app', 1, 3),
    { ...removal('db', 1, 1), chain: [{ action: 'STOP' as const, service: 'x' }] },
  ],
  later: [removal('own', 1, 1)],
  gates: {},
  placements: {},
};
const nodes = [
  { nodeId: 'app-1', provider: 'cloud' },
  { nodeId: 'own-1', provider: 'rack' },
];

describe('what a plan takes from a cluster', () => {
  it('is every confirmed machine that it deletes and that is still there', async () => {
    const unasked = (): never => {
      throw new Error('no provider takes machines back');
    };
    expect(await lossesOf({ plan, current }, unasked)).toEqual({ lost: ['app-1', 'own-1'], released: [] });
  });

  it('is released, not lost, where the provider takes machines back', async () => {
    const served = { ...plan, releasing: ['rack'] };
    expect(await lossesOf({ plan: served, current }, async () => nodes)).toEqual({
      lost: ['app-1'],
      released: ['own-1'],
    });
    expect(await lossesOf({ plan: served, current }, async () => [])).toEqual({
      lost: ['app-1', 'own-1'],
      released: [],
    });
  });
});
