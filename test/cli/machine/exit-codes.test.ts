import { expect, it } from 'vitest';
import { batchShown, type MachineResult } from '../../../src/cli/machine/batch.js';
import { outcomeShown, type Outcome } from '../../../src/cli/machine/follow.js';

const outcome = (kind: 'status' | 'load', status: string): Outcome =>
  ({
    machine: { name: 'blade-1' },
    operation: { id: '1', intent: { kind }, state: 'done', result: { status: { status } } },
  }) as unknown as Outcome;

it('a status that is unknown is a failure, whatever else it is', () => {
  expect(outcomeShown.exitCode(outcome('status', 'READY'))).toBe(0);
  expect(outcomeShown.exitCode(outcome('status', 'RELOAD'))).toBe(0);
  expect(outcomeShown.exitCode(outcome('status', 'UNKNOWN'))).toBe(1);
  // What a load began with is not what it was asked for.
  expect(outcomeShown.exitCode(outcome('load', 'UNKNOWN'))).toBe(0);
});

it('a status that is unknown for one of several machines is a failure', () => {
  const result = (status: 'READY' | 'UNKNOWN'): MachineResult => ({
    machine: 'blade-1',
    result: 'done',
    status,
  });
  expect(batchShown.exitCode({ results: [result('READY')] })).toBe(0);
  expect(batchShown.exitCode({ results: [result('READY'), result('UNKNOWN')] })).toBe(1);
});
