import { expect, it } from 'vitest';
import type { FailureRecord } from '../../../src/model/node/failure.js';
import { recordRetry } from '../../../src/model/node/record.js';
import type { NodeState } from '../../../src/model/node/state.js';

const at = '2026-01-01T00:00:00.000Z';
const later = Date.parse(at) + 1;

const node: NodeState = {
  nodeId: 'app-1',
  group: 'app',
  nodenum: 0,
  hostname: 'web-app-1',
  incarnation: 1,
  payload: {},
  facts: { services: {} },
  services: [],
  changedAt: 0,
  runs: {},
};

function failedNode(failure: Pick<FailureRecord, 'action' | 'kind'>): NodeState {
  return { ...node, failure: { taskId: 't', message: 'm', at, ...failure } };
}

// After a reset, DELETE may ask for a machine that this history of the workflow has not requested.
it.each(['CREATE', 'DELETE'] as const)('confirms absence if the outcome of %s is unknown', (action) => {
  const failed = failedNode({ action, kind: 'UnknownOutcome' });
  expect(recordRetry(failed, later)).toEqual({ ...node, absenceConfirmedAt: later });
});

it.each([
  ['another kind', { action: 'CREATE', kind: 'Capacity' }, later],
  ['another action', { action: 'START', kind: 'UnknownOutcome' }, later],
  ['a retry sent before the failure', { action: 'CREATE', kind: 'UnknownOutcome' }, Date.parse(at) - 1],
  ['an unknown time', { action: 'CREATE', kind: 'UnknownOutcome' }, undefined],
] as const)('does not confirm absence after %s', (_what, failure, sentAt) => {
  expect(recordRetry(failedNode(failure), sentAt)).not.toHaveProperty('absenceConfirmedAt');
});
