import { describe, expect, it } from 'vitest';
import { unfitText } from '../../../src/model/reservation/fit.js';

type Candidate = Parameters<typeof unfitText>[0];
const gone = {
  kind: 'gone',
  expected: 'there',
  found: 'gone',
  since: '2026-07-01T09:00:00Z',
  tries: 0,
} as const;
const computer: Candidate = {
  can: ['LOAD', 'CAPTURE'],
  state: 'available',
  site: 'lab',
  provider: 'rack',
  type: 'ipmi',
  drift: [],
  groups: ['web'],
  labels: { rack: 'r2' },
};

describe('a machine that is checked for a reservation', () => {
  it.each<readonly [what: string, Partial<Candidate>, Parameters<typeof unfitText>[1], RegExp]>([
    ['of another site', {}, { count: 1, site: 'moon' }, /in site lab/],
    ['of another group', {}, { count: 1, group: 'db' }, /not in group db/],
    ['with another label', {}, { count: 1, labels: { rack: 'r1' } }, /no label rack=r1/],
    ['that cannot do it', {}, { count: 1, can: ['POWER_ON'] }, /does not support POWER_ON/],
    ['out of use', { state: 'maintenance', why: 'a fan' }, { count: 1 }, /in maintenance: a fan/],
    ['that two rounds found gone', { drift: [{ ...gone, seen: 2 }] }, { count: 1 }, /it is gone/],
  ])('%s does not do', (_, part, wanted, words) => {
    expect(unfitText({ ...computer, ...part }, wanted)).toMatch(words);
  });

  it.each<readonly [what: string, Partial<Candidate>]>([
    ['as wanted', {}],
    ['that was found gone once', { drift: [{ ...gone, seen: 1 }] }],
    [
      'that is off',
      { drift: [{ kind: 'power', expected: 'on', found: 'off', since: gone.since, seen: 5, tries: 0 }] },
    ],
    ['that is in use for now', { state: 'in use' }],
  ])('%s does', (_, part) => {
    expect(
      unfitText(
        { ...computer, ...part },
        {
          count: 1,
          site: 'lab',
          provider: 'rack',
          type: 'ipmi',
          can: ['CAPTURE'],
          group: 'web',
          labels: { rack: 'r2' },
        },
      ),
    ).toBeUndefined();
  });
});
