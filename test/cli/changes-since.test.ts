import { expect, it } from 'vitest';
import { changesSince } from '../../src/cli/cluster/plan/saved-plan.js';

const saved = { clusterUid: 'u', operation: 4, state: 'held', retry: 'r1' };

it.each([
  ['the cluster was made anew', { ...saved, clusterUid: 'v' }, [], /^The cluster was deleted since/],
  [
    'others began an operation',
    { ...saved, operation: 5 },
    ['operation 5 (apply)'],
    /^since then: operation 5 \(apply\)$/,
  ],
  [
    'the operations of others are not known',
    { ...saved, operation: 6 },
    [],
    /^since then: 2 operations requested$/,
  ],
  ['it was continued', { ...saved, retry: 'r2' }, [], /^The held operation has since continued or ended\.$/],
  [
    'it has ended',
    { clusterUid: 'u', operation: 4 },
    [],
    /^The held operation has since continued or ended\.$/,
  ],
  ['nothing was requested', saved, [], /^No operation began since; a machine/],
])('a saved plan that no longer holds says that %s', (_what, now, since, text) => {
  expect(changesSince(saved, now, since)).toEqual([expect.stringMatching(text)]);
});
