import { describe, expect, it } from 'vitest';
import type { Known, Power } from '../../../src/model/machine/answer.js';
import { parseCurrentImage } from '../../../src/model/machine/current-image.js';
import type { Evidence, RecordReading } from '../../../src/model/machine/evidence.js';
import { decideNodeStatus, type Verdict } from '../../../src/model/machine/node-status.js';
import { planLoad } from '../../../src/model/machine/steps.js';

const wanted = { name: 'base', revision: '7' };
const record = (...lines: readonly string[]): RecordReading => {
  const parsed = parseCurrentImage(['base', ...lines].join('\n'));
  return parsed === undefined ? { is: 'missing' } : { is: 'read', record: parsed };
};
const whole = record('imagerevision_id=7', 'vcld_post_load=success (now)');
const healthy: Evidence = { ping: 'yes', ssh: 'yes', power: 'on', record: whole, check: 'yes', notes: [] };

/** The decision order of the reference, and what must not decide. */
const cases: readonly (readonly [what: string, Partial<Evidence>, Verdict])[] = [
  ['it has the image, untouched', {}, 'READY'],
  ['its system cannot be asked', { check: undefined as never }, 'READY'],
  ['its controller does not answer, and it does', { power: 'unknown' }, 'READY'],
  ['it is reported as off, and answers', { power: 'off' }, 'UNKNOWN'],
  ['it is switched off', { ssh: 'no', ping: 'no', power: 'off', record: { is: 'unknown' } }, 'RELOAD'],
  ['SSH does not answer', { ssh: 'unknown', ping: 'unknown', record: { is: 'unknown' } }, 'UNKNOWN'],
  [
    'nothing answers',
    { ssh: 'unknown', ping: 'unknown', power: 'unknown', record: { is: 'unknown' } },
    'UNKNOWN',
  ],
  ['SSH refuses', { ssh: 'unknown', ping: 'yes', record: { is: 'unknown' } }, 'UNKNOWN'],
  ['it has no record', { record: { is: 'missing' } }, 'RELOAD'],
  ['its record cannot be read', { record: { is: 'unknown' } }, 'UNKNOWN'],
  ['its record names no revision', { record: record('vcld_post_load=success (now)') }, 'RELOAD'],
  [
    'it has another revision of the image',
    { record: record('imagerevision_id=6', 'vcld_post_load=success (now)') },
    'RELOAD',
  ],
  [
    'another image with this number',
    {
      record: {
        is: 'read',
        record: { name: 'other', values: { imagerevision_id: '7', vcld_post_load: 'success' } },
      },
    },
    'RELOAD',
  ],
  [
    'a user was in it',
    { record: record('imagerevision_id=7', 'vcld_post_load=success (now)', 'vcld_tainted=user ada (now)') },
    'RELOAD',
  ],
  [
    'a user was in it before it was finished',
    { record: record('imagerevision_id=7', 'vcld_tainted=') },
    'RELOAD',
  ],
  ['a user was on its terminal', { logIns: 'yes' }, 'RELOAD'],
  ['no user was on its terminal', { logIns: 'no' }, 'READY'],
  ['it is unknown whether a user was on its terminal', { logIns: 'unknown' }, 'READY'],
  ['the steps after loading are missing', { record: record('imagerevision_id=7') }, 'POST_LOAD'],
  [
    'they are missing, and its system is unknown',
    { record: record('imagerevision_id=7'), check: 'unknown' },
    'POST_LOAD',
  ],
  ['its system says no', { check: 'no' }, 'RELOAD'],
  ['its system cannot be asked', { check: 'unknown' }, 'UNKNOWN'],
];

const told: Evidence = {
  by: 'plugin',
  ping: 'yes',
  ssh: 'unknown',
  power: 'unknown',
  record: record('imagerevision_id=7'),
  notes: [],
};

/** Of a resource that its plugin reaches. */
const toldCases: readonly (readonly [what: string, Partial<Evidence>, Verdict])[] = [
  ['it has the image, which cannot be compared', {}, 'READY'],
  ['it has the image, and is as that is', { check: 'yes' }, 'READY'],
  ['it differs from its image', { check: 'no' }, 'RELOAD'],
  ['it is unknown whether it equals its image', { check: 'unknown' }, 'UNKNOWN'],
  ['it is unknown whether it accepts commands', { ping: 'unknown', record: { is: 'missing' } }, 'UNKNOWN'],
  ['it certainly takes no orders', { ping: 'no', record: { is: 'missing' } }, 'UNKNOWN'],
  ['it says that it has no image', { record: { is: 'missing' } }, 'RELOAD'],
  ['it does not say which image it has', { record: { is: 'unknown' } }, 'UNKNOWN'],
  ['it has another revision', { record: record('imagerevision_id=6') }, 'RELOAD'],
  ['a user was in it', { record: record('imagerevision_id=7', 'vcld_tainted=user ada') }, 'RELOAD'],
];

describe('NODE_STATUS', () => {
  it.each(cases)('%s', (_, part, verdict) => {
    expect(decideNodeStatus({ ...healthy, ...part }, wanted).status).toBe(verdict);
  });

  it.each(toldCases)('by its plugin: %s', (_, part, verdict) => {
    expect(decideNodeStatus({ ...told, ...part }, wanted)).toMatchObject({
      status: verdict,
      ssh: null,
      evidence: { by: 'plugin' },
    });
  });

  it('never reloads because of an unknown reading', () => {
    const known: readonly Known[] = ['yes', 'no', 'unknown'];
    const powers: readonly Power[] = ['on', 'off', 'unknown'];
    const records: readonly RecordReading[] = [
      whole,
      { is: 'missing' },
      { is: 'unknown' },
      record('imagerevision_id=6'),
    ];
    for (const ssh of known)
      for (const power of powers)
        for (const reading of records)
          for (const check of known) {
            const { status, evidence } = decideNodeStatus(
              { ...healthy, ssh, power, record: reading, check },
              wanted,
            );
            const reasons = [
              ssh === 'no',
              reading.is === 'missing',
              evidence.revision !== null && evidence.revision !== '7',
              check === 'no',
            ];
            if (planLoad(status) === 'everything') expect(reasons).toContain(true);
            if (ssh === 'unknown' || (ssh === 'yes' && reading.is === 'unknown'))
              expect(status).toBe('UNKNOWN');
          }
  });

  it('reports its readings in their original words', () => {
    expect(
      decideNodeStatus({ ...healthy, power: 'unknown', bootTarget: 'disk', assigned: 'base' }, wanted),
    ).toMatchObject({
      status: 'READY',
      ping: 1,
      ssh: 1,
      rpower: null,
      nodeset: 'boot',
      nodetype: 'base',
      currentimage: 'base',
      evidence: { revision: '7', wanted: '7', tainted: false, postLoad: 'success (now)', check: 'yes' },
    });
    expect(
      decideNodeStatus(
        { ...healthy, power: 'off', ssh: 'no', ping: 'no', record: { is: 'unknown' } },
        wanted,
      ),
    ).toMatchObject({ ping: 0, ssh: 0, rpower: 0, currentimage: null, evidence: { tainted: null } });
  });

  it('accepts any revision without a wanted image', () => {
    expect(decideNodeStatus(healthy, undefined).status).toBe('READY');
  });
});
