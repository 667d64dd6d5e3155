import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { reset } from '../harness/faults/resets.js';
import { until } from '../harness/until.js';
import { openGroupedClusters } from '../harness/workflows/grouped-clusters.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const clusters = openGroupedClusters();
const { settled, apply, ended, machinesOf, pointAtRest, pointAfter, linesOf } = clusters;

const specOf = (name: string, start: string, { node = {}, action = {}, more = {} } = {}): ClusterSpec =>
  closed({
    name,
    nodes: { app: nodes(4, ['app'], node) },
    services: {
      app: { actions: { ...more, start: { type: 'shell', ...action, fields: { script: start } } } },
    },
  });

const say = (name: string): string => `echo "$HEDDLE_NODE" >>${join(clusters.folder, name)}`;

async function fix(name: string): Promise<void> {
  await writeFile(join(clusters.folder, `${name}-fixed`), '');
}

/** Failures of workflow tasks of the group. */
async function failedTasks(name: string): Promise<readonly string[]> {
  const { events } = await clusters.stack.client.temporal.workflow
    .getHandle(`cluster/${name}/group/1`)
    .fetchHistory();
  return (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed === null || failed === undefined ? [] : [failed.failure?.message ?? 'no message'],
  );
}

/** An apply that cannot be planned. */
async function applyRejected(name: string): Promise<void> {
  const { operation } = await clusters.stack.client.apply(
    specOf(name, 'true', { node: { provider: 'nope' } }),
  );
  expect((await settled(name, operation)).state).toBe('rejected');
}

describe('after a reset of a cluster whose group works', () => {
  /** Fails until the cause is corrected, then waits for the gate. */
  const gated = (name: string): string => {
    const file = join(clusters.folder, name);
    return (
      `[ -e ${file}-fixed ] || exit 3; echo "$HEDDLE_NODE begin" >>${file}; ` +
      `while [ ! -e ${file}-gate ]; do sleep 0.05; done; echo "$HEDDLE_NODE end" >>${file}`
    );
  };

  it.each([
    ['later-killed', 'that is sent after it, with the worker killed', true, true],
    ['killed', 'that is delivered once more, with the worker killed', false, true],
    ['alive', 'that is delivered once more', false, false],
  ])('a retry goes on: %s, %s', async (name, _title, withoutMessages, kill) => {
    expect((await apply(specOf(name, gated(name)))).state).toBe('held');
    const point = await pointAtRest(name);
    await fix(name);
    await clusters.stack.client.retry(name);
    await until('all run', async () => (await linesOf(name)).length === 4);
    const resetIt = async (): Promise<void> =>
      reset(clusters.stack, name, withoutMessages ? point : await pointAfter(name, point), {
        withoutMessages,
      });
    await (kill ? clusters.withoutWorker(resetIt) : resetIt());
    if (withoutMessages) {
      await pointAtRest(name);
      await clusters.stack.client.retry(name);
    }
    await writeFile(join(clusters.folder, `${name}-gate`), '');
    await until('it is done', async () => (await ended(name)) === undefined);
    expect(await failedTasks(name)).toEqual([]);
    const lines = await linesOf(name);
    for (const node of ['app-3', 'app-4'])
      expect(
        lines.filter((line) => line.startsWith(node)),
        node,
      ).toEqual([`${node} begin`, `${node} end`]);
  });

  it('another apply goes on when the work of the group has ended', async () => {
    const name = 'another';
    const file = join(clusters.folder, name);
    const slow = (word: string): ClusterSpec =>
      specOf(name, `echo ${word} >${file}-$HEDDLE_NODE; while [ ! -e ${file}-gate ]; do sleep 0.05; done`, {
        more: { configure: { type: 'shell', fields: { script: `echo "$HEDDLE_NODE" >>${file}` } } },
      });
    expect((await apply(specOf(name, 'true'))).state).toBe('done');
    const point = await pointAtRest(name);
    await clusters.stack.client.apply(slow('first'));
    await until('scripts run', async () => (await linesOf(`${name}-app-3`)).length > 0);
    await reset(clusters.stack, name, point, { withoutMessages: true });
    await pointAtRest(name);
    const { operation } = await clusters.stack.client.apply(slow('second'));
    await writeFile(`${file}-gate`, '');
    expect((await settled(name, operation)).state).toBe('done');
    expect(await failedTasks(name)).toEqual([]);
    for (const node of ['app-1', 'app-2', 'app-3', 'app-4'])
      expect(await linesOf(`${name}-${node}`), node).toEqual(['second']);
  });

  it.each([1, 3])(
    'a retry that failed and is delivered once more runs nothing (%i attempts)',
    async (attempts) => {
      const name = `failed-${attempts}`;
      const spec = specOf(name, `${say(name)}; exit 3`, { action: { attempts } });
      expect((await apply(spec)).state).toBe('held');
      const point = await pointAtRest(name);
      const { operation } = await clusters.stack.client.retry(name);
      expect((await settled(name, operation)).state).toBe('held');
      const before = await linesOf(name);
      expect(before).toHaveLength(8 * attempts);
      await reset(clusters.stack, name, await pointAfter(name, point));
      await until('the retry has ended again', async () => {
        const status = await clusters.stack.client.summary(name);
        return status.operation?.state === 'held' && (status.operation.failures?.length ?? 0) > 0;
      });
      await pointAtRest(name);
      expect(await linesOf(name)).toEqual(before);
      await clusters.stack.client.retry(name);
      expect((await settled(name, operation)).state).toBe('held');
      expect(await linesOf(name)).toHaveLength(12 * attempts);
    },
  );

  it('a replacement in a held operation that is delivered once more runs nothing', async () => {
    const name = 'replaced';
    expect((await apply(specOf(name, `${say(name)}; exit 3`))).state).toBe('held');
    const point = await pointAtRest(name);
    const { operation } = await clusters.stack.client.operate(name, { kind: 'replace', nodes: ['app-1'] });
    expect((await settled(name, operation)).state).toBe('held');
    const before = await linesOf(name);
    expect(before).toHaveLength(8);
    await reset(clusters.stack, name, await pointAfter(name, point));
    await until('it has ended again', async () => {
      const status = await clusters.stack.client.summary(name);
      return status.operation?.state === 'held' && (status.operation.failures?.length ?? 0) > 0;
    });
    await pointAtRest(name);
    expect(await linesOf(name)).toEqual(before);
  });

  it('two retries that failed and are delivered once more run nothing', async () => {
    const name = 'two-retries';
    expect((await apply(specOf(name, `${say(name)}; exit 3`))).state).toBe('held');
    const point = await pointAtRest(name);
    for (const _retry of [1, 2]) {
      const { operation } = await clusters.stack.client.retry(name);
      expect((await settled(name, operation)).state).toBe('held');
      await pointAtRest(name);
    }
    const before = (await linesOf(name)).filter((node) => /app-[34]/.test(node));
    expect(before).toHaveLength(6);
    await reset(clusters.stack, name, await pointAfter(name, point));
    await until('it has ended again', async () => {
      const status = await clusters.stack.client.summary(name);
      return status.operation?.state === 'held' && (status.operation.failures?.length ?? 0) > 0;
    });
    await pointAtRest(name);
    expect((await linesOf(name)).filter((node) => /app-[34]/.test(node))).toEqual(before);
  });

  it('a replacement that is delivered once more makes no other machine in the group', async () => {
    const name = 'replaced-again';
    expect((await apply(specOf(name, 'true'))).state).toBe('done');
    const point = await pointAtRest(name);
    const { operation } = await clusters.stack.client.operate(name, { kind: 'replace', nodes: ['app-3'] });
    expect((await settled(name, operation)).state).toBe('done');
    const machines = await machinesOf(name);
    await reset(clusters.stack, name, await pointAfter(name, point));
    await until('it is done again', async () => {
      const { operation: current, history } = await clusters.stack.client.summary(name);
      return current === undefined && history.length === 2;
    });
    expect(await machinesOf(name)).toEqual(machines);
  });

  it('a removal that the cluster does not know does not go on', async () => {
    const name = 'removal';
    const file = join(clusters.folder, name);
    const stop = {
      type: 'shell',
      fields: { script: `${say(name)}; while [ ! -e ${file}-gate ]; do sleep 0.05; done` },
    };
    const spec = (count: number): ClusterSpec =>
      closed({
        name,
        nodes: { app: nodes(count, ['app']) },
        services: { app: { actions: { start: { type: 'shell', fields: { script: 'true' } }, stop } } },
      });
    expect((await apply(spec(4))).state).toBe('done');
    const machines = await machinesOf(name);
    const point = await pointAtRest(name);
    await clusters.stack.client.apply(spec(2));
    await until('services stop', async () => (await linesOf(name)).length === 2);
    await reset(clusters.stack, name, point, { withoutMessages: true });
    await pointAtRest(name);
    const { operation } = await clusters.stack.client.apply(spec(4));
    await writeFile(`${file}-gate`, '');
    expect((await settled(name, operation)).state).toBe('done');
    expect(await machinesOf(name)).toEqual(machines);
  });

  it('an operation that was paused goes on', async () => {
    const name = 'paused';
    const file = join(clusters.folder, name);
    const script = `${say(name)}; while [ ! -e ${file}-gate ]; do sleep 0.05; done`;
    const spec = specOf(name, 'true', { more: { configure: { type: 'shell', fields: { script } } } });
    expect((await apply(specOf(name, 'true'))).state).toBe('done');
    const point = await pointAtRest(name);
    await clusters.stack.client.apply(spec);
    await until('scripts run', async () => (await linesOf(name)).length === 4);
    await clusters.stack.client.pause(name);
    await writeFile(`${file}-gate`, '');
    await until('all tasks are paused', async () =>
      (await clusters.stack.client.status(name)).nodes.every(({ current }) => current?.state !== 'running'),
    );
    await reset(clusters.stack, name, point, { withoutMessages: true });
    await pointAtRest(name);
    expect((await apply(spec)).state).toBe('done');
  });
});

describe('after an apply that was rejected', () => {
  it('a held replacement of nodes of a group replaces all of them', async () => {
    const name = 'replace';
    await fix(name);
    const spec = specOf(name, `[ -e ${join(clusters.folder, `${name}-fixed`)} ] || exit 3`);
    expect((await apply(spec)).state).toBe('done');
    const before = await machinesOf(name);
    await rm(join(clusters.folder, `${name}-fixed`));
    const intent = { kind: 'replace', nodes: ['app-3', 'app-4'], width: 1 } as const;
    const { operation } = await clusters.stack.client.operate(name, intent);
    expect((await settled(name, operation)).state).toBe('held');
    const failed = async (): Promise<readonly string[]> =>
      (await clusters.stack.client.status(name)).nodes.flatMap(({ nodeId, failure }) =>
        failure === undefined ? [] : [nodeId],
      );
    expect(await failed()).toEqual(['app-3']);
    await applyRejected(name);
    await until('the failure is shown again', async () => (await failed()).join() === 'app-3');
    await fix(name);
    await clusters.stack.client.retry(name);
    expect((await settled(name, operation)).state).toBe('done');
    const after = await machinesOf(name);
    expect(after).toHaveLength(4);
    expect(after.filter((machine) => before.includes(machine))).toEqual(
      before.filter((machine) => /app-[12] /.test(machine)),
    );
  });

  it('failures of nodes that the operation before went on without are shown again', async () => {
    const name = 'went-on';
    const fails = '[ "$HEDDLE_NODE" != app-1 ] && [ "$HEDDLE_NODE" != app-3 ]';
    const { state, reason } = await apply(specOf(name, fails, { node: { minimum: 1 } }));
    expect({ state, reason }).toEqual({ state: 'done', reason: expect.stringContaining('without 2 nodes') });
    const shown = async (): Promise<string> =>
      (await clusters.stack.client.status(name)).nodes
        .flatMap(({ nodeId, failure, state: shownAs }) =>
          failure === undefined ? [] : [`${nodeId} ${shownAs}`],
        )
        .join();
    const before = await shown();
    expect(before).toContain('app-3');
    await applyRejected(name);
    await until('the failures are shown again', async () => (await shown()) === before);
  });

  // A run whose end is not known is found by the id of its task.
  it.each(['first', 'later'])('a retry of the %s apply keeps the ids of tasks in groups', async (which) => {
    const name = `${which}-apply`;
    if (which === 'later') expect((await apply(specOf(name, 'true'))).state).toBe('done');
    const { state, uid } = await apply(specOf(name, 'exit 3'));
    expect(state).toBe('held');
    await applyRejected(name);
    const { operation } = await clusters.stack.client.retry(name);
    expect((await settled(name, operation)).state).toBe('held');
    const { events } = await clusters.stack.client.temporal.workflow
      .getHandle(`cluster/${name}/group/1`)
      .fetchHistory();
    const ids = (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes: task }) => task?.activityId ?? [],
    );
    const starts = ids.filter((id) => id.includes(`/app-3#`) && id.includes(`/START/${uid}`));
    expect(starts).toHaveLength(2);
    expect(new Set(starts).size).toBe(1);
  });
});

it('a node that an apply went on without runs in the next retry, if its cause is corrected', async () => {
  const name = 'staged';
  const fails = join(clusters.folder, `${name}-fails`);
  const setFailing = async (...failing: readonly string[]): Promise<void> => {
    await rm(fails, { recursive: true, force: true });
    await mkdir(fails);
    for (const node of failing) await writeFile(join(fails, node), '');
  };
  const spec = (hardware: string): ClusterSpec =>
    specOf(name, `${say(name)}; [ ! -e ${fails}/$HEDDLE_NODE ]`, { node: { hardware, minimum: 3 } });
  await setFailing();
  expect((await apply(spec('small'))).state).toBe('done');
  await setFailing('app-1', 'app-2');
  const { operation } = await clusters.stack.client.apply(spec('large'), { width: 1 });
  expect((await settled(name, operation)).state).toBe('held');
  await setFailing('app-3', 'app-4');
  await clusters.stack.client.retry(name);
  expect((await settled(name, operation)).state).toBe('held');
  await setFailing();
  await clusters.stack.client.retry(name);
  const { state, missing } = await settled(name, operation);
  expect({ state, missing }).toEqual({ state: 'done', missing: undefined });
});

it('a script with a wrong result runs again in a retry', async () => {
  const name = 'wrong-result';
  const start = `${say(name)}; [ -e ${join(clusters.folder, `${name}-fixed`)} ] || echo "not a result" >"$HEDDLE_RESULT"`;
  const { state, failures = [] } = await apply(specOf(name, start));
  expect(state).toBe('held');
  expect(failures[0]).toMatchObject({
    kind: 'ScriptFailed',
    message: expect.stringContaining('HEDDLE_RESULT line 1'),
  });
  await fix(name);
  const { operation } = await clusters.stack.client.retry(name);
  expect((await settled(name, operation)).state).toBe('done');
  expect(await linesOf(name)).toHaveLength(8);
});
