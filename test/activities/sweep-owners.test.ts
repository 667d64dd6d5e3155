import { describe, expect, it } from 'vitest';
import { findOwners, type Owner, type OwnMachine } from '../../src/activities/sweep/find-owners.js';
import type { ClusterRecords } from '../../src/activities/sweep/cluster-records.js';
import type { Ownership } from '../../src/model/node/ownership.js';

/**
 * What is on record, as a table: what each workflow says, by key; a workflow that is not there does not
 * answer.
 */
function records(
  said: Readonly<Record<string, Readonly<Record<string, Ownership>>>>,
  more: Partial<ClusterRecords> = {},
): ClusterRecords {
  const owners: ClusterRecords['owners'] = async (workflowId, machines) => {
    const answers = said[workflowId];
    if (answers === undefined) throw new Error(`${workflowId} does not answer`);
    return machines.map(({ key }) => answers[key] ?? { is: 'free' });
  };
  return {
    resetAt: () => Promise.resolve(undefined),
    owners,
    disown: owners,
    record: async (name) => {
      if (name.startsWith('gone')) return { status: 'ended', uid: 'v' };
      if (name.startsWith('cut')) return { status: 'cut', uid: 'v' };
      return name.startsWith('new') ? { status: 'unknown' } : { status: 'living', uid: 'u' };
    },
    uids: async (name) => (name.startsWith('new') ? [] : ['v', 'old']),
    origins: async () => [],
    living: async () => [{ name: 'web', uid: 'u' }, { name: 'db' }],
    ...more,
  };
}

const machine = (key: string, cluster?: string): OwnMachine => ({ key, providerid: `id-of-${key}`, cluster });

describe('the owner of a machine', () => {
  const group = { is: 'elsewhere', workflowId: 'cluster/web/group/1' } as const;
  const cases: readonly (readonly [string, ClusterRecords, OwnMachine, Partial<Owner>])[] = [
    [
      'its cluster says mine',
      records({ 'cluster/web': { 'u/a-1/1': { is: 'mine' } } }),
      machine('u/a-1/1', 'web'),
      { is: 'mine' },
    ],
    [
      'its cluster says free',
      records({ 'cluster/web': {} }),
      machine('u/a-1/1', 'web'),
      { is: 'free', askedOf: 'cluster/web' },
    ],
    ['its cluster is closed', records({ 'cluster/gone': {} }), machine('v/a-1/1', 'gone'), { is: 'orphan' }],
    [
      'its cluster is closed, and it was given up',
      records({ 'cluster/gone': { 'v/a-1/1': { is: 'abandoned' } } }),
      machine('v/a-1/1', 'gone'),
      { is: 'abandoned' },
    ],
    ['its cluster is closed and cannot be read', records({}), machine('v/a-1/1', 'gone'), { is: 'unclear' }],
    ['its cluster was terminated', records({}), machine('v/a-1/1', 'cut'), { is: 'orphan', cut: true }],
    ['the server has no such workflow', records({}), machine('v/a-1/1', 'new'), { is: 'unknown' }],
    ['a life of its cluster is not on record', records({}), machine('w/a-1/1', 'gone'), { is: 'unknown' }],
    [
      'an earlier life of its cluster is on record',
      records({}),
      machine('old/a-1/1', 'gone'),
      { is: 'orphan' },
    ],
    [
      'its living cluster has another uid',
      records({ 'cluster/web': {} }),
      machine('w/a-1/1', 'web'),
      { is: 'unknown', askedOf: 'cluster/web' },
    ],
    [
      'its living cluster has not come to this incarnation',
      records({ 'cluster/web': { 'u/a-1/9': { is: 'unmade' } } }),
      machine('u/a-1/9', 'web'),
      { is: 'unknown', askedOf: 'cluster/web' },
    ],
    [
      'the runs of its cluster cannot be listed',
      records({}, { uids: () => Promise.reject(new Error('no index')) }),
      machine('w/a-1/1', 'gone'),
      { is: 'unclear' },
    ],
    [
      'its cluster does not answer',
      records({}),
      machine('u/a-1/1', 'web'),
      { is: 'unclear', why: 'the machines of cluster web could not be read: cluster/web does not answer' },
    ],
    [
      'the server does not answer',
      records({}, { record: () => Promise.reject(new Error('no server')) }),
      machine('u/a-1/1', 'web'),
      { is: 'unclear' },
    ],
    [
      'its group says mine',
      records({ 'cluster/web': { 'u/a-1/1': group }, 'cluster/web/group/1': { 'u/a-1/1': { is: 'mine' } } }),
      machine('u/a-1/1', 'web'),
      { is: 'mine' },
    ],
    [
      'its group says free',
      records({ 'cluster/web': { 'u/a-1/1': group }, 'cluster/web/group/1': {} }),
      machine('u/a-1/1', 'web'),
      { is: 'free', askedOf: 'cluster/web/group/1' },
    ],
    [
      'its group says free, and it was given up',
      records({ 'cluster/web': { 'u/a-1/1': { ...group, abandoned: true } }, 'cluster/web/group/1': {} }),
      machine('u/a-1/1', 'web'),
      { is: 'abandoned' },
    ],
    [
      'its group was terminated',
      records({ 'cluster/web': { 'u/a-1/1': group } }),
      machine('u/a-1/1', 'web'),
      { is: 'unclear' },
    ],
    [
      'without tags, of a cluster that lives',
      records({ 'cluster/web': { 'u/a-1/1': { is: 'mine' } } }),
      machine('u/a-1/1'),
      { is: 'mine' },
    ],
    [
      'without tags, given free by its cluster',
      records({ 'cluster/web': {} }),
      machine('u/a-1/1'),
      { is: 'free', askedOf: 'cluster/web' },
    ],
    [
      'without tags, of an earlier life, adopted',
      records({ 'cluster/web': {}, 'cluster/db': { 'old/a-1/1': { is: 'mine' } } }),
      machine('old/a-1/1'),
      { is: 'mine' },
    ],
    [
      'without tags, of an unknown previous run',
      records({ 'cluster/web': {}, 'cluster/db': {} }),
      machine('old/a-1/1'),
      { is: 'orphan' },
    ],
    [
      'without tags, while one that might know does not answer',
      records({ 'cluster/web': {} }),
      machine('old/a-1/1'),
      { is: 'unclear' },
    ],
    [
      'without tags, while one may still adopt it',
      records({ 'cluster/web': {}, 'cluster/db': { 'old/a-1/1': { is: 'unsure' } } }),
      machine('old/a-1/1'),
      { is: 'unsure' },
    ],
    [
      'without tags, while the clusters cannot be listed',
      records({}, { living: () => Promise.reject(new Error('no index')) }),
      machine('u/a-1/1'),
      { is: 'unclear' },
    ],
  ];
  it.each(cases)('%s', async (_title, clusters, asked, expected) => {
    expect(await findOwners(clusters, [asked])).toMatchObject([expected]);
  });

  it('is unknown for machines that were made before a reset of their cluster', async () => {
    const resetAt = Date.parse('2026-01-01T12:00:00Z');
    const clusters = records({ 'cluster/web': {} }, { resetAt: async () => resetAt });
    const found = await findOwners(clusters, [
      { ...machine('u/a-1/1', 'web'), createdAt: '2026-01-01T11:00:00Z' },
      machine('u/a-2/1', 'web'),
      { ...machine('u/a-3/1', 'web'), createdAt: '2026-01-01T13:00:00Z' },
    ]);
    expect(found.map(({ is }) => is)).toEqual(['unknown', 'unknown', 'free']);
  });

  it('is reported in the order of the machines, with one query for each cluster', async () => {
    const asked: string[] = [];
    const answers = records({
      'cluster/web': { 'u/a-2/1': { is: 'mine' } },
      'cluster/db': {},
      'cluster/gone': {},
    });
    const owners: ClusterRecords['owners'] = (workflowId, machines) => {
      asked.push(`${workflowId} ${machines.length}`);
      return answers.owners(workflowId, machines);
    };
    const found = await findOwners({ ...answers, owners }, [
      machine('u/a-1/1', 'web'),
      machine('v/a-1/1', 'gone'),
      machine('u/a-1/1', 'db'),
      machine('u/a-2/1', 'web'),
    ]);
    expect(found.map(({ is }) => is)).toEqual(['free', 'orphan', 'free', 'mine']);
    expect(asked.toSorted()).toEqual(['cluster/db 1', 'cluster/gone 1', 'cluster/web 2']);
  });
});
