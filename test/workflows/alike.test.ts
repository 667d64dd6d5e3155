import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import type { OperateIntent } from '../../src/model/plan/intent/intent.js';
import { openGroupedClusters } from '../harness/workflows/grouped-clusters.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const clusters = openGroupedClusters();
const { settled, apply } = clusters;

const shell = (script: string): object => ({ type: 'shell', fields: { script } });

/** All scripts fail on app-2 and app-4 while the file is there. */
function specOf(name: string, more: object = {}): ClusterSpec {
  const script = `case $HEDDLE_NODE in app-2|app-4) [ ! -e ${join(clusters.folder, name)} ] || exit 7;; esac`;
  return closed({
    name,
    nodes: { app: nodes(4, ['app']) },
    services: {
      app: {
        actions: Object.fromEntries(
          ['install', 'configure', 'start', 'stop', 'remove'].map((action) => [action, shell(script)]),
        ),
      },
    },
    ...more,
  });
}

const breakScripts = async (name: string): Promise<void> => writeFile(join(clusters.folder, name), '');
const fixScripts = async (name: string): Promise<void> => rm(join(clusters.folder, name));

async function operate(name: string, intent: OperateIntent): Promise<string> {
  const { operation } = await clusters.stack.client.operate(name, intent);
  return (await settled(name, operation)).state;
}

async function cancel(name: string): Promise<void> {
  const { operation } = await clusters.stack.client.cancel(name);
  expect((await settled(name, operation)).state).toBe('cancelled');
}

/** What users see of each node, except for what is its own: app-1 and app-3 the same, and app-2 and app-4. */
async function expectAlike(name: string): Promise<void> {
  const { nodes: all } = await clusters.stack.client.status(name);
  const seen = Object.fromEntries(
    all.map(({ nodeId, state, failure, services }) => [nodeId, { state, failed: failure?.action, services }]),
  );
  expect(seen['app-1']).toEqual(seen['app-3']);
  expect(seen['app-2']).toEqual(seen['app-4']);
}

describe('nodes of the cluster itself and of its groups are alike', () => {
  it('after a command that failed', async () => {
    const name = 'executed';
    expect((await apply(specOf(name))).state).toBe('done');
    const command = 'case $HEDDLE_NODE in app-2|app-4) exit 7;; esac';
    expect(await operate(name, { kind: 'exec', command })).toBe('failed');
    await expectAlike(name);
    expect(await operate(name, { kind: 'exec', command: 'true' })).toBe('done');
    await expectAlike(name);
  });

  it('after operations that failed, were cancelled, and were repeated', async () => {
    const name = 'cancelled';
    expect((await apply(specOf(name))).state).toBe('done');
    for (const intent of [
      { kind: 'restart', services: ['app'] },
      { kind: 'stop', services: ['app'] },
      { kind: 'reconfigure', services: ['app'] },
    ] as const) {
      await breakScripts(name);
      expect(await operate(name, intent)).toBe('held');
      await expectAlike(name);
      await cancel(name);
      await expectAlike(name);
      await fixScripts(name);
      expect(await operate(name, intent)).toBe('done');
      await expectAlike(name);
    }
    expect((await apply(specOf(name))).state).toBe('done');
    await expectAlike(name);
  });

  it('after a first apply that failed, was cancelled, and was repeated', async () => {
    const name = 'first';
    await breakScripts(name);
    expect((await apply(specOf(name))).state).toBe('held');
    await expectAlike(name);
    await cancel(name);
    await expectAlike(name);
    expect((await apply(specOf(name, { onFailure: 'continue' }))).state).toBe('done');
    await expectAlike(name);
    await fixScripts(name);
    expect((await apply(specOf(name))).state).toBe('done');
    await expectAlike(name);
  });
});
