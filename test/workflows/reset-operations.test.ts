import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { reset, resetPoints } from '../harness/faults/resets.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Receiver, startReceiver } from '../harness/webhook-receiver.js';
import { clustersOn } from '../harness/workflows/clusters-on.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;

let folder: string;
let ledger: Ledger;
let receiver: Receiver;
let stack: Stack;
const { settled, apply, pointAtRest, pointAfter } = clustersOn(() => stack);
beforeAll(async () => {
  folder = newFolder();
  ledger = openLedger(folder);
  receiver = await startReceiver(secret);
  const file = join(folder, 'secret');
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  stack = await startStack({
    config: {
      // Of four nodes, two are in a group.
      scale: { inlineNodes: 2, groupNodes: 4 },
      webhooks: { ops: { url: receiver.url, secret: { secret: `file:${file}` } } },
    },
  });
  await stack.startWorker();
});
afterAll(async () => {
  await stack.stop();
  await receiver.close();
});

/** Each STOP of a node follows a START, and the last action of a node is START. */
function expectPaired(lines: readonly string[]): void {
  for (const node of ['app-1', 'app-2', 'app-3', 'app-4']) {
    const ended = lines.filter((line) => line.includes(` ${node} `) && line.endsWith(' end'));
    const actions = ended.flatMap((line) => /(START|STOP) end$/.exec(line)?.[1] ?? []);
    expect(actions.join(' '), node).toMatch(/^START( STOP START)*$/);
  }
}

function announced(name: string): number {
  const ended = receiver.received.filter(
    ({ type, data }) => type === 'operation.done' && data['cluster'] === name,
  );
  return new Set(ended.map(({ id }) => id)).size;
}

const specOf = (name: string, body?: string): ClusterSpec =>
  closed({
    name,
    nodes: { app: nodes(4, ['app']) },
    services: {
      app: {
        actions: {
          configure: ledger.script(),
          start: ledger.script(body === undefined ? {} : { body }),
          stop: ledger.script(),
        },
      },
    },
  });

const requests = {
  'a command': (name: string, text: string) =>
    stack.client.operate(name, { kind: 'exec', command: `echo ${text} >>${join(folder, name)}` }),
  'a changed script': (name: string, text: string) =>
    stack.client.apply(specOf(name, `echo ${text} >>${join(folder, name)}`)),
  'a restart': (name: string) => stack.client.operate(name, { kind: 'restart', services: ['app'] }),
};

async function linesOf(name: string): Promise<readonly string[]> {
  const own = await readFile(join(folder, name), 'utf8').catch(() => '');
  return [...own.split('\n').filter((line) => line !== ''), ...(await ledger.lines(`${name} `))].toSorted();
}

describe.each(Object.entries(requests))('after a reset, %s', (what, request) => {
  const word = what.split(' ').at(-1);

  it('that is delivered once more runs no script again, and the next one runs its own', async () => {
    const name = `again-${word}`;
    expect((await apply(specOf(name))).state).toBe('done');
    const point = await pointAtRest(name);
    const { operation: first } = await request(name, 'first');
    expect(await settled(name, first)).toMatchObject({ id: '2', state: 'done' });
    const before = await linesOf(name);
    await reset(stack, name, point);
    expect(await settled(name, first)).toMatchObject({ id: '2', state: 'done' });
    expect(await linesOf(name)).toEqual(before);
    const { operation: second } = await request(name, 'second');
    expect(await settled(name, second)).toMatchObject({ id: '3', state: 'done' });
    expect((await linesOf(name)).length - before.length).toBeGreaterThanOrEqual(4);
  });

  it('runs although it has the number of an operation of the cut-off run', async () => {
    const name = `number-${word}`;
    const { operation } = await stack.client.apply(specOf(name));
    await ledger.written(`${name} app-1 app CONFIGURE begin`);
    const point = (await resetPoints(stack, name)).at(-1);
    expect(await settled(name, operation)).toMatchObject({ state: 'done' });
    const { operation: first } = await request(name, 'first');
    expect(await settled(name, first)).toMatchObject({ id: '2', state: 'done' });
    const before = await linesOf(name);
    // The request comes once more while the first operation runs, and is refused.
    await reset(stack, name, point);
    expect(await settled(name, operation)).toMatchObject({ state: 'done' });
    const between = await linesOf(name);
    // What the group did since is undone by scripts that run, not by results of before.
    expectPaired(await ledger.lines(`${name} `));
    if (what !== 'a changed script') expect(between).toEqual(before);
    const { operation: second } = await request(name, 'second');
    expect(await settled(name, second)).toMatchObject({ id: '2', state: 'done' });
    expect((await linesOf(name)).length - between.length).toBeGreaterThanOrEqual(4);
    expectPaired(await ledger.lines(`${name} `));
    await until('each end is announced', () => announced(name) === 4);
  });
});

it('commands that arrive together all run', async () => {
  const name = 'together';
  const file = join(folder, name);
  expect((await apply(specOf(name))).state).toBe('done');
  const asked = ['one', 'two', 'three', 'four', 'five', 'six'].map(async (word) =>
    stack.client.operate(
      name,
      { kind: 'exec', command: `echo ${word} >>${file}`, nodes: ['app-1'] },
      { queue: true },
    ),
  );
  const operations = await Promise.all(asked);
  for (const { operation } of operations) expect((await settled(name, operation)).state).toBe('done');
  const uids = (await stack.client.status(name)).history.map(({ uid }) => uid);
  expect(new Set(uids).size).toBe(7);
  expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(6);
});

it('a queued command runs once, although Heddle started an operation before it', async () => {
  const name = 'shifted';
  const file = join(folder, name);
  const scriptOf = (start: string): ClusterSpec =>
    closed({
      name,
      onFailure: 'rollback',
      nodes: { app: nodes(1, ['app']) },
      services: { app: { actions: { start: { type: 'shell', fields: { script: start } } } } },
    });
  expect((await apply(scriptOf('true'))).state).toBe('done');
  const point = await pointAtRest(name);
  await stack.client.apply(scriptOf('exit 3'), { queue: true });
  expect(await settled(name, '3')).toMatchObject({ kind: 'rollback', state: 'done' });
  const exec = { kind: 'exec', command: `echo ran >>${file}` } as const;
  const { operation } = await stack.client.operate(name, exec, { queue: true });
  expect(await settled(name, operation)).toMatchObject({ id: '4', state: 'done' });
  await reset(stack, name, await pointAfter(name, point));
  await until('all have ended again', async () => {
    const { operation: current, queued, history } = await stack.client.status(name);
    return current === undefined && queued.length === 0 && history.length === 4;
  });
  const { history } = await stack.client.status(name);
  expect(history.map(({ kind, state }) => `${kind} ${state}`).toSorted()).toEqual([
    'apply done',
    'apply failed',
    'exec done',
    'rollback done',
  ]);
  expect(await readFile(file, 'utf8')).toBe('ran\n');
});
