import { describe, expect, it } from 'vitest';
import { placeOf } from '../../../src/plugins/provider-base/places.js';

describe('the place where a machine is requested', () => {
  it('is one of those given, whatever the number of the node', () => {
    const names = ['app-0', 'rack-00', 'app-1', 'app-2', 'app-999999999', 'db', 'lab-x'];
    for (const name of names)
      for (const incarnation of [1, 2, 3])
        for (const places of [['a'], ['a', 'b'], ['a', 'b', 'c']])
          expect(places).toContain(placeOf(places, `uid/${name}/${incarnation}`));
    expect(placeOf([], 'uid/app-0/1')).toBeUndefined();
  });

  it('differs between neighbours, and from one incarnation to the next', () => {
    const places = ['a', 'b', 'c'];
    const of = (node: number, incarnation: number): string | undefined =>
      placeOf(places, `uid/app-${node}/${incarnation}`);
    expect([0, 1, 2, 3].map((node) => of(node, 1))).toEqual(['c', 'a', 'b', 'c']);
    expect([1, 2, 3].map((incarnation) => of(1, incarnation))).toEqual(['a', 'b', 'c']);
  });
});
