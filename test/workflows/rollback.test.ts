import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { nextSteps } from '../../src/cli/cluster/next-steps.js';
import type { OperateIntent } from '../../src/client/heddle-client.js';
import type { WaitResult } from '../../src/client/wait.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { openLedger, type Ledger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const patience = { everyMs: 100 } as const;

/** Judged by the machine service, which knows nothing of plans. */
describe('a rollback', () => {
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    stack = await startStack({
      // Of four nodes two are in a group's workflow.
      config: { scale: { inlineNodes: 2, groupNodes: 2 } },
    });
    ledger = openLedger(stack.folder);
    await stack.startWorker();
  });

  const marker = (name: string): string => join(stack.folder, `breaks-${name}`);

  /** START of app fails while the marker of the cluster is there. */
  function specOf(name: string, colour: string, more: object = {}, count = 3): ClusterSpec {
    const { rolling, gate, ...rest } = more as { readonly rolling?: object; readonly gate?: string };
    const body = `[ ! -e '${marker(name)}' ] || exit 7`;
    const actions = {
      configure: ledger.script(),
      start: ledger.script({ body, ...(gate === undefined ? {} : { gate }) }),
      stop: ledger.script(),
    };
    return closed({
      name,
      nodes: { app: nodes(count, ['app']), lb: nodes(1, ['lb']) },
      services: {
        app: { onConfigChange: 'restart', ...(rolling === undefined ? {} : { rolling }), actions },
        lb: {
          peers: 'dependencies',
          runtime: { requires: ['app'] },
          actions: { configure: ledger.script(), start: ledger.script(), stop: ledger.script() },
        },
      },
      config: { colour },
      ...rest,
    });
  }

  async function apply(spec: ClusterSpec): Promise<WaitResult> {
    const { operation } = await stack.client.apply(spec);
    return stack.client.waitFor(spec.name, operation, patience);
  }

  async function operate(name: string, intent: OperateIntent): Promise<WaitResult> {
    const { operation } = await stack.client.operate(name, intent);
    return stack.client.waitFor(name, operation, patience);
  }

  async function machinesOf(name: string): Promise<readonly string[]> {
    const all = await stack.service.machines();
    return all
      .filter(({ hostname }) => String(hostname).startsWith(`${name}-`))
      .map(({ hostname, id }) => `${String(hostname)} ${String(id)}`)
      .toSorted();
  }

  it.concurrent.each([
    ['batch', { batch: 1 }],
    ['drain', { batch: 1, drain: ['lb'] }],
  ])('that rolls (%s) keeps every machine, however often it is planned', async (name, rolling) => {
    expect((await apply(specOf(name, 'red', { rolling }))).operation.state).toBe('done');
    expect((await apply(specOf(name, 'blue', { rolling }))).operation.state).toBe('done');
    const before = await machinesOf(name);
    expect(before).toHaveLength(4);
    const { plan } = await stack.client.preview(name, { kind: 'rollback' });
    expect([...plan.kinds, ...(plan.later ?? [])].map(({ purpose }) => purpose)).not.toContain('remove');
    const { operation, status } = await operate(name, { kind: 'rollback' });
    expect(operation.state).toBe('done');
    expect(status.phase).toBe('idle');
    expect(await machinesOf(name)).toEqual(before);
    expect((await stack.client.spec(name))?.config).toEqual({ colour: 'red' });
  });

  it.concurrent('that failed continues by retry, and keeps every machine', async () => {
    expect((await apply(specOf('again', 'red'))).operation.state).toBe('done');
    expect((await apply(specOf('again', 'blue'))).operation.state).toBe('done');
    const before = await machinesOf('again');
    await writeFile(marker('again'), '');
    const held = await operate('again', { kind: 'rollback' });
    expect(held.operation.state).toBe('held');
    await rm(marker('again'));
    const { operation } = await stack.client.retry('again');
    expect((await stack.client.waitFor('again', operation, patience)).operation).toMatchObject({
      id: held.operation.id,
      state: 'done',
    });
    expect(await machinesOf('again')).toEqual(before);
    expect((await stack.client.spec('again'))?.config).toEqual({ colour: 'red' });
  });

  it.concurrent('that loses a machine replaces that one, and keeps the others', async () => {
    const gated = { gate: 'lost', rolling: { batch: 1 } };
    await ledger.open('lost');
    expect((await apply(specOf('lost', 'red', gated))).operation.state).toBe('done');
    expect((await apply(specOf('lost', 'blue', gated))).operation.state).toBe('done');
    const before = await machinesOf('lost');
    await rm(join(stack.folder, 'gate-lost'));
    const starts = (await ledger.lines('lost app-1 app START begin')).length;
    const { operation } = await stack.client.operate('lost', { kind: 'rollback' });
    await expect
      .poll(async () => (await ledger.lines('lost app-1 app START begin')).length, { timeout: 60_000 })
      .toBe(starts + 1);
    const [lost = ''] = before.filter((line) => line.startsWith('lost-app-1 '));
    await stack.service.call('DELETE', `/v1/machines/${lost.split(' ')[1] ?? ''}`);
    await ledger.open('lost');
    const end = await stack.client.waitFor('lost', operation, patience);
    expect(end.operation).toMatchObject({ state: 'done', repairs: 1 });
    const after = await machinesOf('lost');
    expect(after).toHaveLength(4);
    expect(after.filter((line) => !before.includes(line))).toEqual([expect.stringMatching(/^lost-app-1 /)]);
    expect((await stack.client.spec('lost'))?.config).toEqual({ colour: 'red' });
  });

  it.concurrent('of a first apply that failed is refused: there is no spec to go back to', async () => {
    await writeFile(marker('first'), '');
    const { status } = await apply(specOf('first', 'red'));
    expect(status.phase).toBe('held');
    const before = await machinesOf('first');
    expect(nextSteps(status, Date.now()).map(({ command }) => command)).not.toContain(
      'heddle rollback first',
    );
    await expect(stack.client.preview('first', { kind: 'rollback' })).rejects.toThrow(/no previous spec/);
    await expect(stack.client.operate('first', { kind: 'rollback' })).rejects.toThrow(/no previous spec/);
    expect(await machinesOf('first')).toEqual(before);
  });

  it.concurrent('by policy of a first apply that failed holds the operation', async () => {
    await writeFile(marker('policy'), '');
    const { operation } = await apply(specOf('policy', 'red', { onFailure: 'rollback' }));
    expect(operation).toMatchObject({
      state: 'held',
      reason: expect.stringMatching(/^START of app .*; there is no previous spec to return to$/),
    });
    expect(await machinesOf('policy')).toHaveLength(4);
  });

  it.concurrent('and an apply of a locked cluster take no machine', async () => {
    expect((await apply(specOf('locked', 'red', { lock: true }, 2))).operation.state).toBe('done');
    const locked = /is locked by its file.* This operation would remove the machines of app-\d/;
    const fewer = await apply(specOf('locked', 'red', { lock: true }, 1));
    expect(fewer.operation).toMatchObject({ state: 'rejected', reason: expect.stringMatching(locked) });
    const unlocking = await apply(specOf('locked', 'red', {}, 1));
    expect(unlocking.operation).toMatchObject({ state: 'rejected', reason: expect.stringMatching(locked) });
    await writeFile(marker('locked'), '');
    const held = await apply(specOf('locked', 'red', { lock: true }, 3));
    expect(held.operation.state).toBe('held');
    const before = await machinesOf('locked');
    expect(before).toHaveLength(4);
    const back = await operate('locked', { kind: 'rollback' });
    expect(back.operation).toMatchObject({ state: 'rejected', reason: expect.stringMatching(locked) });
    expect(back.status.operation).toMatchObject({ id: held.operation.id, state: 'held' });
    await expect(stack.client.abandon('locked', 'app-3')).rejects.toThrow(/is locked by its file/);
    expect(await machinesOf('locked')).toEqual(before);
  });

  it.concurrent('keeps the lock that the apply before it set', async () => {
    expect((await apply(specOf('kept', 'red', {}, 1))).operation.state).toBe('done');
    expect((await apply(specOf('kept', 'red', { lock: true }, 1))).operation.state).toBe('done');
    const { status } = await operate('kept', { kind: 'rollback' });
    expect(status.locked).toBe(true);
    await expect(stack.client.delete('kept')).rejects.toThrow(/is locked by its file/);
  });

  it.concurrent('to a revision restores that spec as a new revision, and answers for those that are gone', async () => {
    for (const colour of ['red', 'blue', 'green'])
      expect((await apply(specOf('many', colour, {}, 1))).operation.state).toBe('done');
    // The same spec again is no revision.
    expect((await apply(specOf('many', 'green', {}, 1))).operation.revision).toBe(3);
    const before = await machinesOf('many');
    const { operation } = await operate('many', { kind: 'rollback', revision: 1 });
    expect(operation).toMatchObject({ state: 'done', what: 'rollback to revision 1', revision: 4 });
    expect((await stack.client.spec('many'))?.config).toEqual({ colour: 'red' });
    expect(await machinesOf('many')).toEqual(before);
    expect((await stack.client.revision('many', 2)).config).toEqual({ colour: 'blue' });
    for (let number = 5; number <= 12; number += 1)
      expect((await apply(specOf('many', `colour-${number}`, {}, 1))).operation.revision).toBe(number);
    const numbers = (await stack.client.revisions('many')).map(({ number }) => number);
    expect(numbers).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
    await expect(stack.client.operate('many', { kind: 'rollback', revision: 2 })).rejects.toThrow(
      /revision 2 of cluster many is gone: only the last 10 are kept, 3 to 12/,
    );
    await expect(stack.client.revision('many', 13)).rejects.toThrow(/has no revision 13; the newest is 12/);
    const [newest] = await stack.client.revisions('many');
    const { operation: last } = await stack.client.delete('many');
    await stack.client.waitFor('many', last ?? '', patience);
    const handle = stack.client.temporal.workflow.getHandle(newest?.workflowId ?? '');
    expect(await handle.result()).toMatch(/no longer keeps revision 12/);
  });

  it.concurrent('of a scale that failed restores the count; a count by scale stays until the file has it', async () => {
    expect((await apply(specOf('sized', 'red', {}, 1))).operation.state).toBe('done');
    const two = { kind: 'scale', counts: { app: 2 } } as const;
    expect((await stack.client.preview('sized', two)).plan.scaled).toEqual({ app: { count: 2, file: 1 } });
    expect((await operate('sized', two)).operation.state).toBe('done');
    expect(await machinesOf('sized')).toHaveLength(3);
    await writeFile(marker('sized'), '');
    expect((await operate('sized', { kind: 'scale', counts: { app: 3 } })).operation.state).toBe('held');
    await rm(marker('sized'));
    const back = await operate('sized', { kind: 'rollback' });
    expect(back.operation.state).toBe('done');
    expect(back.status.scaled).toEqual({ app: { count: 2, file: 1 } });
    expect(await machinesOf('sized')).toHaveLength(3);
    // A file with another count neither undoes the scale nor hides it.
    const { status } = await apply(specOf('sized', 'blue', {}, 1));
    expect(status.scaled).toEqual({ app: { count: 2, file: 1 } });
    expect(await machinesOf('sized')).toHaveLength(3);
    const unknown = stack.client.preview('sized', { kind: 'scale', counts: { ap: 2 } });
    await expect(unknown).rejects.toMatchObject({
      cause: { cause: { message: expect.stringMatching(/has no group ap; it has app, lb/) } },
    });
    expect((await apply(specOf('sized', 'blue', {}, 2))).status.scaled).toBeUndefined();
    const one = await operate('sized', { kind: 'scale', counts: { app: 1 } });
    expect(one.status.scaled).toEqual({ app: { count: 1, file: 2 } });
    expect(await machinesOf('sized')).toHaveLength(2);
    const file = await operate('sized', { kind: 'scale', counts: { app: null } });
    expect(file.status.scaled).toBeUndefined();
    expect(await machinesOf('sized')).toHaveLength(3);
  });
});
