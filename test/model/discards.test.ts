import { describe, expect, it } from 'vitest';
import type { NodeFacts } from '../../src/model/node/state.js';
import { isDiscard } from '../../src/model/plan/machines/removals.js';

const listed = { mayRemove: { operation: '2', machine: true, services: [] } } as const;

describe('whether DELETE discards a machine, in an operation of a user and in one of Heddle:', () => {
  it.each<[what: string, facts: Partial<NodeFacts>, requested: boolean, automatic: boolean]>([
    ['that was confirmed', { CONFIRM: true }, false, false],
    ['that was never confirmed', {}, true, true],
    ['that the plan of the operation lists', listed, false, true],
    ['that only an earlier plan listed', { mayRemove: { ...listed.mayRemove, operation: '1' } }, true, true],
    ['of which the plan lists a service', { mayRemove: { operation: '2', services: ['web'] } }, true, true],
    ['that a user replaces', { toReplace: true }, false, false],
  ])(
    '%s is or is not a discard, in an operation of a user and in one of Heddle',
    (_, facts, requested, automatic) => {
      const node = { facts: { machine: 'digest', services: {}, ...facts } };
      expect(isDiscard(node, { operation: '2' })).toBe(requested);
      expect(isDiscard(node, { operation: '2', automatic: true })).toBe(automatic);
    },
  );
});
