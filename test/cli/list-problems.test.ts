import type { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import {
  countWithoutReason,
  mostReasons,
  problemsFirst,
  reasonOf,
  withReasons,
} from '../../src/cli/cluster/list-problems.js';
import type { Operation } from '../../src/model/cluster/operation.js';
import type { ClusterStatus } from '../../src/schema/output/status.js';

const operation = (some: Partial<Operation>): Operation => ({ what: 'apply', ...some }) as Operation;
const temporal = {} as Client;

describe('the list of clusters', () => {
  it('begins with the stuck, held, failed and paused ones, and keeps the order of the others', () => {
    const clusters = [
      { name: 'a', phase: 'idle' },
      { name: 'b', phase: 'paused' },
      { name: 'c', phase: 'failed' },
      { name: 'd', phase: 'held' },
      { name: 'e' },
      { name: 'f', phase: 'applying', stuck: true as const },
      { name: 'g', phase: 'held' },
    ];
    expect(problemsFirst(clusters).map(({ name }) => name)).toEqual(['f', 'd', 'g', 'c', 'b', 'a', 'e']);
  });

  it('says why a cluster is held or paused, and why the last operation of another failed', () => {
    expect(reasonOf({ operation: operation({ state: 'held', reason: 'no quota' }), history: [] })).toBe(
      'no quota',
    );
    const paused = operation({ state: 'running', paused: { by: 'me@host', at: '' } });
    expect(reasonOf({ operation: paused, history: [] })).toBe('apply was paused by me@host');
    const history = [operation({ state: 'failed', reason: 'it broke' })];
    expect(reasonOf({ history })).toBe('it broke');
    expect(reasonOf({ operation: operation({ state: 'running' }), history })).toBeUndefined();
  });

  it('asks only problems, only the first ones, and does without the reason of one that does not answer', async () => {
    const asked: string[] = [];
    const client = {
      summary: (name: string): Promise<ClusterStatus> => {
        asked.push(name);
        if (name === 'held-1') return Promise.reject(new Error('no worker'));
        return Promise.resolve({
          operation: operation({ state: 'held', reason: `reason of ${name}` }),
          history: [],
        } as unknown as ClusterStatus);
      },
    };
    const held = Array.from({ length: mostReasons + 5 }, (_, index) => ({
      name: `held-${index}`,
      phase: 'held',
      createdAt: '',
    }));
    const idle = { name: 'idle', phase: 'idle', createdAt: '' };
    const listed = await withReasons({ client, temporal }, [...held, idle]);
    expect(asked).toHaveLength(mostReasons);
    expect(listed.map(({ reason }) => reason).slice(0, 3)).toEqual([
      'reason of held-0',
      undefined,
      'reason of held-2',
    ]);
    expect(listed.at(-1)).toEqual(idle);
    expect(countWithoutReason(listed)).toBe(5);
    expect(countWithoutReason(held)).toBe(0);
  });
});
