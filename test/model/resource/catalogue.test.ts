import type { Json } from '../../../src/model/json.js';
import { describe, expect, it } from 'vitest';
import {
  type PutRequest,
  maxResourceBytes,
  maxVersions,
  pinReference,
  prunable,
  putVersion,
  refusePut,
  refuseRollback,
  refuseSet,
  removeVersions,
  resourcePartBytes,
  rollBack,
  setVersion,
  type Catalogue,
} from '../../../src/model/artifact/state.js';
import { readPinnedResource, readResourceReference } from '../../../src/model/artifact/reference.js';
import { usedDigests } from '../../../src/model/artifact/used.js';

const digestOf = (word: string): string => `sha256:${Buffer.from(word).toString('hex').padEnd(64, '0')}`;
const request = (name: string, word: string, more: Partial<PutRequest> = {}): PutRequest => ({
  name,
  by: 'me',
  digest: digestOf(word),
  format: 'file',
  bytes: 3,
  parts: 1,
  ...more,
});
const at = '2026-01-01T00:00:00.000Z';

function withVersions(...words: readonly string[]): Catalogue {
  return words.reduce<Catalogue>(
    (catalogue, word) => putVersion(catalogue, request('keys', word), at).catalogue,
    {},
  );
}

describe('the catalogue', () => {
  it('activates the first version of a name, and no other', () => {
    expect(withVersions('a', 'b')['keys']).toMatchObject({
      set: 1,
      next: 3,
      before: [],
      versions: [{ version: 1 }, { version: 2 }],
    });
  });

  it('accepts the content of an existing version again', () => {
    const catalogue = withVersions('a', 'b');
    expect(putVersion(catalogue, request('keys', 'a'), 'later')).toEqual({
      catalogue,
      version: expect.objectContaining({ version: 1, at }),
    });
    expect(putVersion(catalogue, request('keys', 'a', { format: 'archive' }), at).version.version).toBe(3);
  });

  it('rolls back step by step, and never reuses a number', () => {
    let catalogue = setVersion(setVersion(withVersions('a', 'b', 'c'), 'keys', 2), 'keys', 3);
    catalogue = rollBack(catalogue, 'keys');
    expect(catalogue['keys']).toMatchObject({ set: 2, before: [1] });
    catalogue = rollBack(catalogue, 'keys');
    expect(catalogue['keys']).toMatchObject({ set: 1, before: [] });
    expect(refuseRollback(catalogue, 'keys')).toBe('no other version of resource keys was set before');
    expect(setVersion(catalogue, 'keys', 1)).toBe(catalogue);
    const { catalogue: pruned } = removeVersions(
      catalogue,
      prunable(catalogue, { used: [], before: '2027' }),
    );
    expect(putVersion(pruned, request('keys', 'd'), at).version.version).toBe(4);
  });

  it('withdraws a name, and restores it', () => {
    const none = setVersion(withVersions('a'), 'keys', null);
    expect(none['keys']).toEqual(expect.not.objectContaining({ set: 1 }));
    expect(pinReference(none, { resource: 'keys' })).toBeUndefined();
    expect(rollBack(none, 'keys')['keys']).toMatchObject({ set: 1 });
  });

  it.each<[string, unknown, RegExp]>([
    ['a name with a slash', request('a/b', 'x'), /Letters, digits and \. _ -/],
    ['a name of dots', request('..', 'x'), /Letters, digits/],
    ['no digest', { ...request('a', 'x'), digest: 'md5:1' }, /lacks a digest/],
    ['another format', { ...request('a', 'x'), format: 'folder' }, /lacks a digest, format/],
    ['too many bytes', request('a', 'x', { bytes: maxResourceBytes + 1 }), /the size must be at most/],
    [
      'a wrong number of parts',
      request('a', 'x', { bytes: resourcePartBytes + 1, parts: 1 }),
      /are stored in 2 parts, not 1/,
    ],
  ])('refuses %s', (_what, put, wrong) => {
    expect(refusePut({}, put)).toMatch(wrong);
  });

  it('refuses more than it can hold, and names a remedy', () => {
    const full: Catalogue = {
      keys: {
        versions: Array.from({ length: maxVersions }, (_, index) => ({
          version: index,
          digest: digestOf(String(index)),
          format: 'file',
          bytes: 1,
          parts: 1,
          at,
          by: 'me',
        })),
        before: [],
        next: maxVersions,
      },
    };
    expect(refusePut(full, request('keys', 'new'))).toMatch(/heddle resource prune/);
    expect(refusePut(full, request('keys', '5'))).toBeUndefined();
  });

  it('refuses unknown names', () => {
    expect(refuseSet({}, 'keys', 1)).toMatch(/resource keys does not exist/);
    expect(refuseSet(withVersions('a', 'b'), 'keys', 9)).toBe(
      'resource keys has no version 9; existing versions: 1, 2',
    );
  });

  it('prunes what is neither active, previous, used nor new; content is deleted with its last version', () => {
    let catalogue = withVersions('a', 'b', 'c', 'd');
    catalogue = putVersion(catalogue, request('other', 'b'), at).catalogue;
    catalogue = setVersion(setVersion(catalogue, 'keys', 3), 'keys', 4);
    expect(
      prunable(catalogue, { used: [digestOf('a')], before: '2027' }).map(({ version }) => version),
    ).toEqual([2]);
    expect(prunable(catalogue, { used: [], before: at })).toEqual([]);
    const { catalogue: kept, unused } = removeVersions(
      catalogue,
      prunable(catalogue, { used: [], before: '2027' }),
    );
    expect(kept['keys']).toMatchObject({ set: 4, before: [3], versions: [{ version: 3 }, { version: 4 }] });
    expect(unused.map(({ digest }) => digest)).toEqual([digestOf('a')]);
  });
});

describe('a reference', () => {
  it('means the active version, a version, or a content', () => {
    const catalogue = setVersion(withVersions('a', 'b'), 'keys', 2);
    const pinned = { resource: 'keys', version: 2, digest: digestOf('b'), format: 'file' };
    for (const reference of [
      { resource: 'keys' },
      { resource: 'keys', version: 2 },
      { resource: 'keys', digest: digestOf('b') },
    ])
      expect(pinReference(catalogue, reference)).toEqual(pinned);
    for (const reference of [
      { resource: 'none' },
      { resource: 'constructor' },
      { resource: 'keys', version: 9 },
      { resource: 'keys', version: 1, digest: digestOf('b') },
    ]) {
      expect(pinReference(catalogue, reference)).toBeUndefined();
    }
    expect(readResourceReference(pinned)).toBeUndefined();
    expect(readPinnedResource(pinned)).toEqual(pinned);
  });

  it('is nothing else that users write into fields', () => {
    const others: readonly Json[] = [
      'keys',
      { resource: 1 },
      { resource: 'a', more: 1 },
      { secret: 'env:A' },
      ['a'],
      null,
    ];
    for (const value of others) {
      expect(readResourceReference(value)).toBeUndefined();
      expect(readPinnedResource(value)).toBeUndefined();
    }
    expect(
      readPinnedResource({ resource: '../a', version: 1, digest: digestOf('a'), format: 'file' }),
    ).toBeUndefined();
  });

  it('counts as used anywhere in the state of a cluster', () => {
    const field = (word: string): object => ({
      resource: 'keys',
      version: 1,
      digest: digestOf(word),
      format: 'file',
    });
    const state = {
      nodes: {},
      spec: { services: [field('a')] },
      queue: [{ spec: { deep: { er: field('b') } } }],
      target: field('a'),
    };
    expect(usedDigests(state as unknown as Parameters<typeof usedDigests>[0])).toEqual([
      digestOf('a'),
      digestOf('b'),
    ]);
  });
});
