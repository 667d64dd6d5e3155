import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import type { OperateIntent } from '../../src/model/plan/intent/intent.js';
import { until } from '../harness/until.js';
import { openGroupedClusters } from '../harness/workflows/grouped-clusters.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const clusters = openGroupedClusters();
const { settled, apply, linesOf, machinesOf } = clusters;

const shell = (script: string): object => ({ type: 'shell', fields: { script } });

/** START of app-2 and app-4 fails while the file is there; the balancer records which nodes it sees. */
function specOf(name: string, more: object = {}, count = 4): ClusterSpec {
  const file = join(clusters.folder, name);
  const start = `case $HEDDLE_NODE in app-2|app-4) [ ! -e ${file}-breaks ] || exit 7;; esac; echo "$HEDDLE_NODE" >>${file}-starts`;
  const see = `tr -cs a-z0-9- "\\n" <"$HEDDLE_NODES" | grep -x 'app-[0-9]' | sort -u | xargs >>${file}-seen`;
  return closed({
    name,
    onFailure: 'continue',
    nodes: { app: nodes(count, ['app']), lb: nodes(1, ['lb']) },
    services: {
      app: { actions: { start: shell(start) } },
      lb: { peers: 'dependencies', requires: ['app'], actions: { start: shell(see), stop: shell('true') } },
    },
    ...more,
  });
}

const breakScripts = async (name: string): Promise<void> =>
  writeFile(join(clusters.folder, `${name}-breaks`), '');
const fixScripts = async (name: string): Promise<void> => rm(join(clusters.folder, `${name}-breaks`));

async function statesOf(name: string): Promise<string> {
  const found = (await clusters.stack.client.status(name)).nodes;
  return found
    .map(({ nodeId, state }) => `${nodeId} ${state}`)
    .toSorted()
    .join(', ');
}

async function operate(name: string, intent: OperateIntent): Promise<string> {
  const { operation } = await clusters.stack.client.operate(name, intent);
  return (await settled(name, operation)).state;
}

const failed = 'app-1 ready, app-2 failed, app-3 ready, app-4 failed, lb-1 ready';
const ready = failed.replaceAll('failed', 'ready');

/** A cluster whose first apply went on without a node of its own workflow and one of its group. */
async function brokenCluster(name: string): Promise<void> {
  await breakScripts(name);
  expect((await apply(specOf(name))).state).toBe('done');
  expect(await statesOf(name)).toBe(failed);
  expect(await linesOf(`${name}-seen`)).toEqual(['app-1 app-3']);
}

describe('nodes that an operation went on without', () => {
  it('stay failed, and hidden from their peers, until an apply tries them again', async () => {
    const name = 'stay';
    await brokenCluster(name);
    expect(await operate(name, { kind: 'exec', command: 'true', nodes: ['app-1'] })).toBe('done');
    expect(await statesOf(name)).toBe(failed);
    const all = `echo "$HEDDLE_NODE" >>${join(clusters.folder, name)}-executed`;
    expect(await operate(name, { kind: 'exec', command: all })).toBe('done');
    expect((await linesOf(`${name}-executed`)).toSorted()).toEqual(['app-1', 'app-3', 'lb-1']);
    expect(await operate(name, { kind: 'restart', services: ['lb'] })).toBe('done');
    expect(await linesOf(`${name}-seen`)).toEqual(['app-1 app-3', 'app-1 app-3']);
    const { operation } = await clusters.stack.client.apply(specOf(name), { nodes: ['app-1'] });
    expect((await settled(name, operation)).state).toBe('done');
    expect(await statesOf(name)).toBe(failed);
    await fixScripts(name);
    const { state, missing } = await apply(specOf(name));
    expect({ state, missing }).toEqual({ state: 'done', missing: undefined });
    expect(await statesOf(name)).toBe(ready);
    expect((await linesOf(`${name}-starts`)).toSorted()).toEqual(['app-1', 'app-2', 'app-3', 'app-4']);
    expect(await operate(name, { kind: 'restart', services: ['lb'] })).toBe('done');
    expect((await linesOf(`${name}-seen`)).at(-1)).toBe('app-1 app-2 app-3 app-4');
  });

  it('run commands that name them, and stay failed', async () => {
    const name = 'named';
    await brokenCluster(name);
    const command = `echo "$HEDDLE_NODE" >>${join(clusters.folder, name)}-executed`;
    expect(await operate(name, { kind: 'exec', command, nodes: ['app-2', 'app-4'] })).toBe('done');
    expect((await linesOf(`${name}-executed`)).toSorted()).toEqual(['app-2', 'app-4']);
    expect(await statesOf(name)).toBe(failed);
    expect(await operate(name, { kind: 'exec', command: 'exit 9', nodes: ['app-1', 'app-2', 'app-4'] })).toBe(
      'failed',
    );
    expect(await statesOf(name)).toBe(failed);
    const { nodes: found } = await clusters.stack.client.status(name);
    expect(found.flatMap(({ failure }) => failure?.action ?? [])).toEqual(['START', 'START']);
    expect(await operate(name, { kind: 'restart', services: ['app'], nodes: ['app-1', 'app-2'] })).toBe(
      'rejected',
    );
    await fixScripts(name);
    const { operation } = await clusters.stack.client.apply(specOf(name), { services: ['app'] });
    expect((await settled(name, operation)).state).toBe('done');
    expect(await statesOf(name)).toBe(ready);
  });

  it('an apply that is limited to them or to their service brings them up', async () => {
    const name = 'limited';
    await brokenCluster(name);
    await fixScripts(name);
    const first = await clusters.stack.client.apply(specOf(name), { nodes: ['app-2'] });
    expect((await settled(name, first.operation)).state).toBe('done');
    expect(await statesOf(name)).toBe(failed.replace('app-2 failed', 'app-2 ready'));
    const second = await clusters.stack.client.apply(specOf(name), { services: ['app'] });
    expect((await settled(name, second.operation)).state).toBe('done');
    expect(await statesOf(name)).toBe(ready);
  });

  it('get other machines by a replacement, and are tried again by its retry', async () => {
    const name = 'replaced';
    await brokenCluster(name);
    const before = await machinesOf(name);
    const strict = specOf(name, { onFailure: 'hold' });
    await breakScripts(name);
    expect((await apply(strict)).state).toBe('held');
    const { uid = '' } = (await clusters.stack.client.status(name)).operation ?? {};
    expect(uid).not.toBe('');
    await fixScripts(name);
    await clusters.stack.client.operate(name, { kind: 'replace', nodes: ['app-2', 'app-4'] });
    await until('it is done', async () => (await statesOf(name)) === ready);
    const after = await machinesOf(name);
    expect(after.filter((machine) => before.includes(machine))).toHaveLength(3);
  });
});

describe('a held operation', () => {
  it('comes back if what should replace it is cancelled while it is planned', async () => {
    const name = 'cancelled';
    await breakScripts(name);
    const strict = specOf(name, { onFailure: 'hold' });
    const { id, state } = await apply(strict);
    expect(state).toBe('held');
    const before = await statesOf(name);
    let operation = '';
    await clusters.withoutWorker(async () => {
      const requested = clusters.stack.client.apply(specOf(name)).then((reply) => {
        operation = reply.operation;
        return clusters.stack.client.cancel(name, operation);
      });
      await clusters.stack.startWorker('silent-plan').then(async (worker) => {
        await requested;
        await worker.kill();
      });
    });
    await until('the operation is held again', async () => {
      const { operation: current } = await clusters.stack.client.summary(name);
      return current?.id === id && current.state === 'held';
    });
    expect(await statesOf(name)).toBe(before);
  });

  it('that is limited replaces nothing beyond its limits', async () => {
    const name = 'outside';
    await breakScripts(name);
    expect((await apply(specOf(name))).state).toBe('done');
    const strict = specOf(name, { onFailure: 'hold' });
    const { operation } = await clusters.stack.client.apply(strict, { services: ['app'] });
    expect((await settled(name, operation)).state).toBe('held');
    const request = clusters.stack.client.operate(name, { kind: 'replace', nodes: ['lb-1'] });
    await expect(request).rejects.toThrow('limited to services');
    await clusters.stack.client.cancel(name, operation);
    await settled(name, operation);
    const replace = { kind: 'replace', nodes: ['app-2'] } as const;
    const held = await clusters.stack.client.operate(name, replace);
    expect((await settled(name, held.operation)).state).toBe('held');
    await expect(clusters.stack.client.operate(name, { kind: 'replace', nodes: ['lb-1'] })).rejects.toThrow(
      'does not include lb-1',
    );
  });

  it('is not continued by names that are none, or by the abandonment of a healthy node', async () => {
    const name = 'aliases';
    await breakScripts(name);
    const { state } = await apply(specOf(name, { onFailure: 'hold' }));
    expect(state).toBe('held');
    const starts = await linesOf(`${name}-starts`);
    const { client } = clusters.stack;
    for (const alias of ['app-03', 'app-3.0', 'app-0x3', 'app-+3', 'constructor-1', '__proto__-1']) {
      await expect(client.operate(name, { kind: 'replace', nodes: [alias] })).rejects.toThrow('has no node');
      await expect(client.abandon(name, alias)).rejects.toThrow('has no node');
    }
    for (const node of ['app-1', 'app-3', 'app-4'])
      await expect(client.abandon(name, node)).rejects.toThrow('can be abandoned only if');
    expect((await client.status(name)).operation?.state).toBe('held');
    expect(await linesOf(`${name}-starts`)).toEqual(starts);
  });
});

it('a rollback by onFailure that is refused is held', async () => {
  const name = 'refused-rollback';
  const spec = (count: number, more: object): ClusterSpec =>
    specOf(name, { onFailure: 'rollback', ...more }, count);
  expect((await apply(spec(3, {}))).state).toBe('done');
  await breakScripts(name);
  await clusters.stack.client.apply(spec(4, { lock: true }));
  await until('the rollback is held', async () => {
    const { operation } = await clusters.stack.client.summary(name);
    return operation?.kind === 'rollback' && operation.state === 'held';
  });
  expect((await clusters.stack.client.status(name)).operation?.reason).toContain('is locked');
});

it('an account that is named like a member of every object is not known', async () => {
  const spec = (provider: string): ClusterSpec =>
    closed({ name: 'object', nodes: { app: nodes(1, [], { provider }) } });
  for (const provider of ['constructor', 'tostring']) {
    const { state, reason } = await apply(spec(provider));
    expect({ state, reason }).toEqual({
      state: 'rejected',
      reason: expect.stringContaining(`names provider "${provider}", which`),
    });
  }
});
