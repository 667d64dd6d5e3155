import { expect, test } from 'vitest';
import { judgeClusters } from '../../src/cli/system/doctor-workflows.js';

test('doctor warns of held and failed clusters, and names the command for the first', () => {
  const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name, phase: 'held' }));
  expect(judgeClusters([{ name: 'web', phase: 'idle' }, ...all, { name: 'z', phase: 'failed' }])).toEqual({
    check: 'clusters',
    state: 'warn',
    text: '7 of 8 clusters held or failed: a (held), b (held), c (held), d (held), e (held), 2 more',
    next: 'heddle status a',
  });
});

test('doctor finds nothing wrong with clusters that work or rest, or whose phase is not indexed', () => {
  const fine = [{ name: 'a', phase: 'applying' }, { name: 'b', phase: 'idle' }, { name: 'c' }];
  expect(judgeClusters(fine)).toEqual({
    check: 'clusters',
    state: 'ok',
    text: '3 clusters, none is held or failed',
  });
  expect(judgeClusters([])).toMatchObject({ state: 'ok' });
});
