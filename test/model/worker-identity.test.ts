import { describe, expect, test } from 'vitest';
import {
  describeDifference,
  differingWorkers,
  formatIdentity,
  readIdentity,
  buildLines,
} from '../../src/model/worker-identity.js';

describe('the identity of a worker', () => {
  test('names the process and digests of its configuration', () => {
    const identity = formatIdentity(
      {
        worker: '1@a',
        build: '0.2.0+1a2b3c4d',
        key: { id: 'k1', source: '/var/lib/my keys' },
        config: { 'provider/local': 'aa', scale: 'bb' },
      },
      'cc',
    );
    expect(identity).toBe(
      '1@a build=0.2.0+1a2b3c4d key=k1:%2Fvar%2Flib%2Fmy%20keys config=cc provider/local=aa scale=bb',
    );
    expect(readIdentity(identity)).toEqual({
      worker: '1@a',
      build: '0.2.0+1a2b3c4d',
      key: { id: 'k1', source: '/var/lib/my keys' },
      config: { config: 'cc', 'provider/local': 'aa', scale: 'bb' },
    });
    expect(readIdentity('2@b')).toEqual({ worker: '2@b' });
  });

  test('stays below the limit of the server with any number of accounts', () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`provider/account-${n}`, 'aa']));
    const identities = [
      formatIdentity({ worker: '1@a', config: many }, 'x'),
      formatIdentity({ worker: '2@a', config: { ...many, more: 'y' } }, 'z'),
    ];
    expect(identities).toEqual(['1@a config=x', '2@a config=z']);
    expect(differingWorkers(identities)).toMatchObject([
      { differences: [expect.stringContaining('too many')] },
    ]);
  });

  test('shows how the configurations of workers differ', () => {
    const identities = [
      formatIdentity({ worker: '1@a', config: { 'provider/local': 'aa', 'provider/cloud': 'bb' } }, 'x'),
      formatIdentity({ worker: '2@a', config: { 'provider/local': 'aa', 'provider/cloud': 'bb' } }, 'x'),
      formatIdentity({ worker: '3@a', config: { 'provider/local': 'cc', 'automator/ansible': 'dd' } }, 'y'),
      '4@old',
    ];
    expect(differingWorkers(identities).map(describeDifference)).toEqual([
      'workers 1@a and 3@a of one queue have different configurations: only 3@a has automator ansible, only 1@a has provider cloud, provider local differs',
    ]);
  });

  test('shows which workers run which build', () => {
    const workers = [
      { worker: '1@a', build: 'x' },
      { worker: '2@a', build: 'y' },
      { worker: '3@a', build: 'x' },
      { worker: '4@old' },
    ];
    expect(buildLines(workers)).toEqual(['x: 1@a, 3@a', 'y: 2@a']);
  });
});
