import { describe, expect, it } from 'vitest';
import { jsonBytes, maxSpecBytes, mostCarried, mostSent } from '../../src/model/carried.js';
import { packCluster, refuseTooLarge, unpackCluster } from '../../src/model/cluster/carry.js';
import { maxReadersBytes, noteValues } from '../../src/model/cluster/readers.js';
import { newCluster, type ClusterState } from '../../src/model/cluster/state.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { fc } from '../harness/property.js';

const specOf = (number: number, bytes = maxSpecBytes - 100): ClusterSpec =>
  ({ name: 'web', nodes: {}, services: {}, pad: `${number}`.padEnd(bytes, 'x') }) as unknown as ClusterSpec;

function stateWith(more: Partial<ClusterState>): ClusterState {
  return { ...newCluster('web', 'u'), ...more };
}

const queued = (spec: ClusterSpec): ClusterState['queue'][number] =>
  ({ operation: { id: '1' }, spec }) as unknown as ClusterState['queue'][number];

describe('the size of a value', () => {
  it('is that of its JSON in UTF-8, whatever it holds', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(jsonBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)));
      }),
    );
    expect(jsonBytes('ä€😀\u0001"\n')).toBe(Buffer.byteLength(JSON.stringify('ä€😀\u0001"\n')));
    expect(jsonBytes(undefined)).toBe(0);
  });
});

describe('what a cluster hands to its next run', () => {
  it('names each different spec once, and is the same again afterwards', () => {
    const [one, two] = [specOf(1), specOf(2)];
    const state = stateWith({
      spec: one,
      achieved: structuredClone(one),
      before: two,
      target: structuredClone(two),
      queue: [queued(structuredClone(one)), queued(specOf(3))],
    });
    const carried = packCluster(state);
    expect(carried.specs).toHaveLength(3);
    expect(unpackCluster(JSON.parse(JSON.stringify(carried)))).toEqual(state);
    const empty = stateWith({});
    expect(unpackCluster(JSON.parse(JSON.stringify(packCluster(empty))))).toEqual(empty);
  });

  it('has room for four specs of the largest size beside the largest nodes and history', () => {
    const state = stateWith({ spec: specOf(1), achieved: specOf(2), before: specOf(3) });
    expect(refuseTooLarge(state, { intent: { kind: 'apply' }, spec: specOf(4) })).toBeUndefined();
    expect(mostSent - mostCarried).toBeGreaterThan(100_000);
  });

  it('refuses what does not fit, with size, limit and remedy', () => {
    const state = stateWith({
      spec: specOf(1),
      achieved: specOf(2),
      before: specOf(3),
      queue: [queued(specOf(4))],
    });
    expect(refuseTooLarge(state, { intent: {}, spec: specOf(5) })).toMatch(
      /would store \d+ bytes .* the limit is \d+; wait until queued operations have ended, .* resources/,
    );
    expect(refuseTooLarge(state, { intent: {}, spec: specOf(4) })).toBeUndefined();
    expect(refuseTooLarge(stateWith({}), { intent: {}, spec: specOf(1, maxSpecBytes) })).toMatch(
      /has \d+ bytes as JSON; the limit is 204800;/,
    );
    expect(refuseTooLarge(stateWith({}), { intent: { nodes: 'x'.repeat(200_000) } })).toMatch(
      /name fewer nodes/,
    );
  });
});

describe('the clusters that use outputs', () => {
  type Readers = NonNullable<ClusterState['readers']>;
  const noteAll = (count: number, bytes: number): { readers: Readers; forgotten: readonly string[] } => {
    let readers: Readers = {};
    const forgotten: string[] = [];
    for (let number = 0; number < count; number += 1) {
      const noted = noteValues(readers, `reader-${number}`, { address: 'x'.repeat(bytes) });
      ({ readers } = noted);
      forgotten.push(...noted.forgotten);
    }
    return { readers, forgotten };
  };

  it('all readers are remembered up to a limit', () => {
    const { readers, forgotten } = noteAll(500, 30);
    expect(Object.keys(readers)).toHaveLength(500);
    expect(forgotten).toEqual([]);
  });

  it('above the limit the readers that reported longest ago are forgotten first', () => {
    const { readers, forgotten } = noteAll(20, 10_000);
    expect(Object.keys(readers)).toEqual(['reader-16', 'reader-17', 'reader-18', 'reader-19']);
    expect(forgotten).toEqual(Array.from({ length: 16 }, (_, number) => `reader-${number}`));
    expect(jsonBytes(readers)).toBeLessThanOrEqual(maxReadersBytes);
    const huge = noteValues(readers, 'huge', { x: 'x'.repeat(maxReadersBytes) });
    expect(huge).toEqual({ readers, forgotten: ['huge'] });
    expect(Object.keys(noteValues(readers, 'reader-17', {}).readers)).not.toContain('reader-17');
  });
});
