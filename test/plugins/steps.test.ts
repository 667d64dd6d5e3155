import { describe, expect, test } from 'vitest';
import {
  PluginError,
  takeSteps,
  undoSteps,
  type CreateRecord,
  type JsonObject,
  type Step,
} from '../../src/plugins/contract.js';

/** A record that outlives attempts; `undefined` says that no attempt was before. */
function memory(before?: JsonObject): CreateRecord & { readonly written: JsonObject[] } {
  const written: JsonObject[] = [];
  return {
    written,
    read: () => Promise.resolve(written.at(-1) ?? before),
    write: (made) => {
      written.push(made);
      return Promise.resolve();
    },
  };
}

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
    expect(await takeSteps(steps, new Set(), memory())).toEqual({
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

  test('records each step but the last as soon as its result is known', async () => {
    const { steps } = table();
    const record = memory();
    await takeSteps(steps, new Set(), record);
    expect(record.written).toEqual([
      { volume: { volume: 'volume-1' } },
      { volume: { volume: 'volume-1' }, address: { address: 'address-1' } },
    ]);
  });

  test('continues after the last recorded step, looks for the next one first, and returns the whole result', async () => {
    const { steps, calls } = table();
    const looked: string[] = [];
    const finding = steps.map((step): Step<Set<string>> => ({
      ...step,
      find: (cloud, made) => {
        looked.push(`${step.name} ${JSON.stringify(made)}`);
        return Promise.resolve(cloud.has(step.name) ? { [step.name]: `${step.name}-1` } : undefined);
      },
    }));
    const record = memory({ volume: { volume: 'volume-1' } });
    expect(await takeSteps(finding, new Set(['volume', 'address']), record)).toEqual({
      volume: 'volume-1',
      address: 'address-1',
      instance: 'instance-1',
    });
    expect(looked).toEqual([
      'address {"volume":"volume-1"}',
      'instance {"volume":"volume-1","address":"address-1"}',
    ]);
    expect(calls).toEqual(['make instance {"volume":"volume-1","address":"address-1"}']);
  });

  test('looks for nothing in the first attempt', async () => {
    const { steps } = table();
    const find = (): Promise<undefined> => Promise.reject(new Error('it looked'));
    await takeSteps(
      steps.map((step) => ({ ...step, find })),
      new Set(),
      memory(),
    );
  });

  test('makes nothing more if a step cannot be recorded', async () => {
    const { steps, calls } = table();
    const record = { ...memory(), write: () => Promise.reject(new PluginError('Retryable', 'replaced')) };
    await expect(takeSteps(steps, new Set(), record)).rejects.toMatchObject({ kind: 'Retryable' });
    expect(calls).toEqual(['make volume {}']);
  });

  test('refuses two steps of one name', async () => {
    const { steps } = table();
    await expect(takeSteps([...steps, ...steps], new Set(), memory())).rejects.toThrow(
      'two steps are named volume',
    );
  });

  test('stops at a failed step, names it, keeps its kind, and leaves created resources to DELETE', async () => {
    const { steps } = table('address', 'Invalid');
    const cloud = new Set<string>();
    await expect(takeSteps(steps, cloud, memory())).rejects.toMatchObject({
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
    const record = memory();
    await expect(takeSteps(steps, cloud, record)).rejects.toMatchObject({
      kind: 'Quota',
      message: 'make address: no more',
    });
    expect([...cloud]).toEqual([]);
    expect(await record.read()).toEqual({});
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
        memory(),
      ),
    ).rejects.toThrow(TypeError);
  });
});
