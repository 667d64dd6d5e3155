import { describe, expect, test } from 'vitest';
import { PluginError, takeSteps, undoSteps, type Step } from '../../src/plugins/contract.js';

/** What a cloud has of one machine; each step makes one thing, once. */
function table(
  failAt?: string,
  kind: 'Quota' | 'Invalid' = 'Quota',
): { readonly steps: readonly Step<Set<string>>[]; readonly calls: string[] } {
  const calls: string[] = [];
  const steps = ['volume', 'address', 'instance'].map((name): Step<Set<string>> => ({
    name,
    make: (cloud, made) => {
      calls.push(`make ${name} ${JSON.stringify(made)}`);
      if (name === failAt)
        throw new PluginError(kind, 'no more', { retryAfterMs: 5, result: { providerid: 'i' } });
      cloud.add(name);
      return Promise.resolve({ [name]: `${name}-1` });
    },
    undo: (cloud) => {
      calls.push(`undo ${name}`);
      return Promise.resolve(cloud.delete(name) && name === 'instance' ? 'going' : 'gone');
    },
  }));
  return { steps, calls };
}

describe('a table of steps', () => {
  test('is executed in order; each step gets the results of those before, and all are returned', async () => {
    const { steps, calls } = table();
    expect(await takeSteps(steps, new Set())).toEqual({
      volume: 'volume-1',
      address: 'address-1',
      instance: 'instance-1',
    });
    expect(calls).toEqual([
      'make volume {}',
      'make address {"volume":"volume-1"}',
      'make instance {"volume":"volume-1","address":"address-1"}',
    ]);
  });

  test('stops at a failed step, names it, keeps its kind, and leaves created resources to DELETE', async () => {
    const { steps } = table('address', 'Invalid');
    const cloud = new Set<string>();
    await expect(takeSteps(steps, cloud)).rejects.toMatchObject({
      name: 'PluginError',
      kind: 'Invalid',
      message: 'make address: no more',
      retryAfterMs: 5,
      result: { providerid: 'i' },
    });
    expect([...cloud]).toEqual(['volume']);
  });

  test('leaves nothing if a step finds no capacity: the machine is created elsewhere', async () => {
    const { steps } = table('address');
    const cloud = new Set<string>();
    await expect(takeSteps(steps, cloud)).rejects.toMatchObject({
      kind: 'Quota',
      message: 'make address: no more',
    });
    expect([...cloud]).toEqual([]);
  });

  test('is undone from the last step to the first, skipped ones included, and waits for slow ones', async () => {
    const { steps, calls } = table();
    const cloud = new Set(['volume', 'instance']);
    await expect(undoSteps(steps, cloud, 40)).rejects.toMatchObject({
      kind: 'NotReady',
      message: 'step instance is not undone yet',
      retryAfterMs: 40,
    });
    expect([...cloud]).toEqual(['volume']);
    await undoSteps(steps, cloud);
    expect([...cloud]).toEqual([]);
    expect(calls).toEqual(['undo instance', 'undo instance', 'undo address', 'undo volume']);
  });

  test('does not disguise errors of the plugin itself', async () => {
    await expect(
      takeSteps(
        [{ name: 'a', make: () => Promise.reject(new TypeError('oh')), undo: () => Promise.resolve('gone') }],
        {},
      ),
    ).rejects.toThrow(TypeError);
  });
});
