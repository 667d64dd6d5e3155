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
  test('is taken in order; each step knows what those before it told, and all of it is told in the end', async () => {
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

  test('stops at a step that fails, names it, keeps its kind, and leaves what was made to DELETE', async () => {
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

  test('leaves nothing where a step finds no room: the machine is asked for elsewhere', async () => {
    const { steps } = table('address');
    const cloud = new Set<string>();
    await expect(takeSteps(steps, cloud)).rejects.toMatchObject({
      kind: 'Quota',
      message: 'make address: no more',
    });
    expect([...cloud]).toEqual([]);
  });

  test('is undone from the last step to the first, the ones that were never taken too, and waits for what goes slowly', async () => {
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

  test('does not dress up what is a fault of the plugin itself', async () => {
    await expect(
      takeSteps(
        [{ name: 'a', make: () => Promise.reject(new TypeError('oh')), undo: () => Promise.resolve('gone') }],
        {},
      ),
    ).rejects.toThrow(TypeError);
  });
});
