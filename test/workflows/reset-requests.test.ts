import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { clusterMessages } from '../../src/workflows/messages.js';
import { reset } from '../harness/faults/resets.js';
import { until } from '../harness/until.js';
import { openGroupedClusters } from '../harness/workflows/grouped-clusters.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const clusters = openGroupedClusters();
const { settled, apply, ended, pointAtRest, pointAfter, linesOf } = clusters;

const specOf = (name: string, start: string, more: object = {}): ClusterSpec =>
  closed({
    name,
    nodes: { app: nodes(4, ['app']) },
    services: { app: { actions: { start: { type: 'shell', fields: { script: start } } } } },
    ...more,
  });

describe('after a reset', () => {
  /** Fails until the file `<name>-fixed` is there, and says each time that it runs. */
  const failing = (name: string): ClusterSpec =>
    specOf(
      name,
      `echo "$HEDDLE_NODE" >>${join(clusters.folder, name)}; [ -e ${join(clusters.folder, `${name}-fixed`)} ] || exit 3`,
    );

  it('a retry that is delivered once more runs no script again', async () => {
    const name = 'same-retry';
    expect((await apply(failing(name))).state).toBe('held');
    const point = await pointAtRest(name);
    await writeFile(join(clusters.folder, `${name}-fixed`), '');
    const { operation } = await clusters.stack.client.retry(name);
    expect((await settled(name, operation)).state).toBe('done');
    expect(await linesOf(name)).toHaveLength(8);
    await reset(clusters.stack, name, await pointAfter(name, point));
    await until('the retry has ended', async () => (await settled(name, operation)).state === 'done');
    expect(await linesOf(name)).toHaveLength(8);
  });

  it('a later retry runs what failed, whatever an earlier one did', async () => {
    const name = 'later-retry';
    expect((await apply(failing(name))).state).toBe('held');
    const point = await pointAtRest(name);
    const { operation } = await clusters.stack.client.retry(name);
    expect((await settled(name, operation)).state).toBe('held');
    expect(await linesOf(name)).toHaveLength(8);
    await reset(clusters.stack, name, point, { withoutMessages: true });
    expect((await settled(name, operation)).state).toBe('held');
    await writeFile(join(clusters.folder, `${name}-fixed`), '');
    await clusters.stack.client.retry(name);
    expect((await settled(name, operation)).state).toBe('done');
    expect(await linesOf(name)).toHaveLength(12);
  });

  it('a rollback that now returns to another spec runs its scripts', async () => {
    const name = 'rollback';
    const saying = (word: string): ClusterSpec =>
      specOf(name, `echo ${word} >${clusters.folder}/${name}-$HEDDLE_NODE`);
    for (const word of ['first', 'second']) expect((await apply(saying(word))).state).toBe('done');
    const point = await pointAtRest(name);
    expect((await apply(saying('third'))).state).toBe('done');
    await clusters.stack.client.operate(name, { kind: 'rollback' }, { queue: true });
    expect(await ended(name)).toBeUndefined();
    await reset(clusters.stack, name, point);
    expect(await ended(name)).toBeUndefined();
    const spec = JSON.stringify(await clusters.stack.client.spec(name));
    const files = (await readdir(clusters.folder)).filter((file) => file.startsWith(`${name}-app-`));
    expect(files).toHaveLength(4);
    for (const file of files) for (const word of await linesOf(file)) expect(spec).toContain(`echo ${word} `);
  });

  it('a cancellation that is delivered once more ends no other operation', async () => {
    const name = 'cancel';
    expect((await apply(specOf(name, 'true'))).state).toBe('done');
    const point = await pointAtRest(name);
    const begin = async (command: string): Promise<string> => {
      const intent = { kind: 'exec', command, nodes: ['app-1'] } as const;
      return (await clusters.stack.client.operate(name, intent, { queue: true })).operation;
    };
    const first = await begin(`sleep 2; echo ran >>${join(clusters.folder, name)}`);
    expect((await settled(name, first)).state).toBe('done');
    const second = await begin('sleep 300');
    await clusters.stack.client.cancel(name);
    expect((await settled(name, second)).state).toBe('cancelled');
    await reset(clusters.stack, name, point);
    await until('the first command is done again', async () => {
      const { operation, queued } = await clusters.stack.client.summary(name);
      return [operation, ...queued].every((one) => one?.id !== first) && (await settled(name, first));
    });
    expect(await settled(name, first)).toMatchObject({ kind: 'exec', state: 'done' });
    // It may have come before its operation.
    await clusters.stack.client.cancel(name).catch(() => undefined);
    expect((await settled(name, second)).state).toBe('cancelled');
    expect(await linesOf(name)).toEqual(['ran']);
  });

  it('a replacement that is delivered once more finds the machines that were made', async () => {
    const name = 'replaced';
    const slow = join(clusters.folder, `${name}-slow`);
    const stop = `[ "$HEDDLE_NODE" != app-1 ] || [ -e ${slow} ] || { touch ${slow}; sleep 4; }`;
    const spec = closed({
      name,
      nodes: { app: nodes(4, ['app']) },
      services: {
        app: {
          actions: Object.fromEntries(
            Object.entries({ start: 'true', stop }).map(([action, script]) => [
              action,
              { type: 'shell', fields: { script } },
            ]),
          ),
        },
      },
    });
    expect((await apply(spec)).state).toBe('done');
    const point = await pointAtRest(name);
    const intent = { kind: 'replace', nodes: ['app-1', 'app-2', 'app-3'] } as const;
    const replaced = await clusters.stack.client.operate(name, intent, { queue: true });
    expect((await settled(name, replaced.operation)).state).toBe('done');
    const exec = await clusters.stack.client.operate(
      name,
      { kind: 'exec', command: 'true' },
      { queue: true },
    );
    expect((await settled(name, exec.operation)).state).toBe('done');
    const machines = await clusters.machinesOf(name);
    expect(machines).toHaveLength(4);
    await reset(clusters.stack, name, point);
    expect(await ended(name)).toBeUndefined();
    expect((await clusters.stack.client.status(name)).history).toHaveLength(3);
    expect(await clusters.machinesOf(name)).toEqual(machines);
  });

  it('a machine that was made for another file is not taken', async () => {
    const name = 'other-file';
    const spec = (count: number, hardware: string): ClusterSpec =>
      specOf(name, 'true', { nodes: { app: nodes(count, ['app'], { hardware }) } });
    expect((await apply(spec(1, 'small'))).state).toBe('done');
    const point = await pointAtRest(name);
    expect((await apply(spec(2, 'small'))).state).toBe('done');
    const made = (await clusters.machinesOf(name)).filter((machine) => machine.includes('app-2 '));
    await reset(clusters.stack, name, point, { withoutMessages: true });
    expect(await ended(name)).toBeUndefined();
    const { id, state, reason } = await apply(spec(2, 'large'));
    expect({ state, reason }).toEqual({
      state: 'held',
      reason: expect.stringMatching(/CREATE of app-2 failed: .* with other parameters/),
    });
    expect(await clusters.machinesOf(name)).toEqual(expect.arrayContaining(made));
    await clusters.stack.client.operate(name, { kind: 'replace', nodes: ['app-2'] });
    expect((await settled(name, id)).state).toBe('done');
    const after = await clusters.machinesOf(name);
    expect(after).toHaveLength(2);
    expect(after.filter((machine) => made.includes(machine))).toEqual([]);
  });

  it('queued commands that are delivered once more run no second time', async () => {
    const name = 'commands';
    expect((await apply(specOf(name, 'true'))).state).toBe('done');
    const point = await pointAtRest(name);
    for (const word of ['one', 'two']) {
      const command = `echo ${word} $HEDDLE_NODE >>${join(clusters.folder, name)}`;
      const { operation } = await clusters.stack.client.operate(
        name,
        { kind: 'exec', command },
        { queue: true },
      );
      expect((await settled(name, operation)).state).toBe('done');
    }
    const before = await linesOf(name);
    expect(before).toHaveLength(8);
    await reset(clusters.stack, name, point);
    expect(await ended(name)).toBeUndefined();
    expect((await clusters.stack.client.status(name)).history).toHaveLength(3);
    expect(await linesOf(name)).toEqual(before);
  });
});

it('a retry or a cancellation of an operation that is over is refused', async () => {
  const name = 'over';
  expect((await apply(specOf(name, 'exit 3'))).state).toBe('held');
  const { uid } = (await clusters.stack.client.status(name)).operation ?? {};
  expect((await apply(specOf(name, 'exit 4'))).state).toBe('held');
  const handle = clusters.stack.client.temporal.workflow.getHandle(`cluster/${name}`);
  const { retry, cancel } = clusterMessages.updates;
  const args = [{ by: 'test', operation: uid }] as const;
  await expect(handle.executeUpdate(retry, { args: [...args] })).rejects.toMatchObject({
    cause: { message: expect.stringContaining(`cluster ${name} now holds operation 2`) },
  });
  await expect(handle.executeUpdate(cancel, { args: [...args] })).rejects.toMatchObject({
    cause: { message: expect.stringContaining('operation 1 (apply) of cluster over does not run') },
  });
  await expect(clusters.stack.client.cancel(name, '7')).rejects.toThrow('has no operation 7');
  expect((await clusters.stack.client.status(name)).operation).toMatchObject({ id: '2', state: 'held' });
});
