import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDeliveries } from '../../src/cli/system/deliveries.js';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { openGround } from '../harness/machine/ground.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Receiver, startReceiver } from '../harness/webhook-receiver.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;

/** Two webhooks: `ops` receives everything, `alarm` two kinds of events, and another server each. */
describe('webhooks', () => {
  let folder: string;
  let ops: Receiver;
  let alarm: Receiver;
  let stack: Stack;
  const { run } = heddleOn(() => stack);

  beforeAll(async () => {
    folder = newFolder();
    const file = join(folder, 'secret');
    writeFileSync(file, `${secret}\n`, { mode: 0o600 });
    ops = await startReceiver(secret);
    alarm = await startReceiver(secret);
    const reference = { secret: `file:${file}` };
    stack = await startStack({
      config: {
        scale: { inlineNodes: 1, groupNodes: 2, inFlight: 15 },
        webhooks: {
          ops: { url: ops.url, secret: reference },
          alarm: { url: alarm.url, secret: reference, events: ['operation.held', 'node.lost'] },
        },
      },
    });
  });
  afterAll(async () => {
    await stack.stop();
    await ops.close();
    await alarm.close();
  });

  const spec = (name: string, script: string, count = 1) =>
    closed({
      name,
      nodes: { app: nodes(count, ['app']) },
      services: { app: { peers: 'none', actions: { install: { type: 'shell', fields: { script } } } } },
    });
  const of = (receiver: Receiver, cluster: string) =>
    receiver.received.filter(({ data }) => data['cluster'] === cluster);
  const accepted = (receiver: Receiver, cluster: string) =>
    of(receiver, cluster)
      .filter(({ status }) => status < 300)
      .map(({ type }) => type);

  it('receive the events they subscribe to, signed, although they fail at first and a worker is killed', async () => {
    const fixed = join(folder, 'fixed');
    ops.answer(503);
    const first = await stack.startWorker();
    const { operation, clusterUid } = await stack.client.apply(spec('shop', `[ -e ${fixed} ]`));
    // The receiver is down, and the cluster goes on.
    expect((await stack.client.waitFor('shop', operation)).operation.state).toBe('held');
    await until('an attempt has failed', () => of(ops, 'shop').length >= 2);
    const waiting = () => readDeliveries(stack.client.temporal, clusterUid);
    await until('status shows the deliveries', async () => (await waiting()).length === 2);
    await until('status shows the reason', async () =>
      (await waiting()).every(({ failure }) => failure === 'ops answered 503'),
    );
    expect((await waiting()).map(({ event, webhook, state }) => [event, webhook, state])).toEqual(
      expect.arrayContaining([
        ['operation.started', 'ops', 'under way'],
        ['operation.held', 'ops', 'under way'],
      ]),
    );
    const shown = (await run('status', 'shop')).stdout;
    expect(shown).toMatch(
      /^operation\.started for webhook ops: attempt \d+, for [\d.]+ \w+: ops answered 503$/m,
    );
    expect(shown).toMatch(
      /^operation\.held for webhook ops: attempt \d+, for [\d.]+ \w+: ops answered 503$/m,
    );
    await first.kill();
    ops.answer(204);
    await stack.startWorker('second');
    await until('both events have arrived', () => accepted(ops, 'shop').length === 2);
    expect(accepted(ops, 'shop').toSorted()).toEqual(['operation.held', 'operation.started']);
    writeFileSync(fixed, '');
    await stack.client.retry('shop');
    await stack.client.waitFor('shop', operation);
    const { operation: deletion = '' } = await stack.client.delete('shop');
    await stack.client.waitFor('shop', deletion);
    await until('the deletion is reported', () => accepted(ops, 'shop').length === 5);
    expect(accepted(ops, 'shop').slice(2)).toEqual(['operation.done', 'operation.started', 'operation.done']);
    expect(accepted(alarm, 'shop')).toEqual(['operation.held']);
    await until('nothing waits any more', async () => (await waiting()).length === 0);

    const all = [...of(ops, 'shop'), ...of(alarm, 'shop')];
    expect(all.filter(({ isSigned }) => !isSigned)).toEqual([]);
    // An id names an event, and is the same at each attempt and for each webhook.
    const ids = new Map(all.map(({ id, type, data }) => [id, JSON.stringify([type, data])]));
    expect(ids.size).toBe(5);
    expect(all.every(({ id, type, data }) => ids.get(id) === JSON.stringify([type, data]))).toBe(true);
    expect(of(ops, 'shop').find(({ type }) => type === 'operation.held')?.data).toMatchObject({
      cluster: 'shop',
      clusterUid,
      operation: {
        kind: 'apply',
        state: 'held',
        by: 'test',
        reason: expect.stringContaining('INSTALL of app on app-1 failed'),
      },
    });
  });

  it('learn of a first apply that is rejected, although its cluster ends with that', async () => {
    const wrong = closed({ name: 'wrong', nodes: { app: { ...nodes(1, []), provider: 'nosuch' } } });
    const { operation } = await stack.client.apply(wrong);
    expect((await stack.client.waitFor('wrong', operation)).operation.state).toBe('rejected');
    await until('the rejection is reported', () => accepted(ops, 'wrong').length > 0);
    expect(accepted(ops, 'wrong')).toEqual(['operation.rejected']);
    expect(of(ops, 'wrong')[0]?.data).toMatchObject({
      operation: { kind: 'apply', state: 'rejected', reason: expect.stringContaining('nosuch') },
    });
  });

  it('learn of lost nodes once, and neither of commands nor of their output', async () => {
    const { operation } = await stack.client.apply(spec('loses', 'true'));
    await stack.client.waitFor('loses', operation);
    const { operation: command } = await stack.client.operate('loses', {
      kind: 'exec',
      command: 'echo hunter2 >&2; false',
    });
    await stack.client.waitFor('loses', command);
    const [node] = (await stack.client.status('loses')).nodes;
    await stack.service.call('DELETE', `/v1/machines/${node?.providerid ?? ''}`);
    await until('the machine is gone', async () => (await stack.service.machines()).length === 0);
    await stack.client.probe('loses');
    await stack.client.probe('loses');
    await until('the loss is reported', () => accepted(alarm, 'loses').includes('node.lost'));
    const { operation: deletion = '' } = await stack.client.delete('loses');
    await stack.client.waitFor('loses', deletion);
    await until('the deletion is reported', () => accepted(ops, 'loses').length === 7);
    expect(of(alarm, 'loses').map(({ type, data }) => [type, data['lost']])).toEqual([
      ['node.lost', { count: 1, nodes: [expect.objectContaining({ nodeId: 'app-1', seen: 'gone' })] }],
    ]);
    expect(JSON.stringify(ops.received)).not.toContain('hunter2');
  });

  it('learn of lost nodes of a cluster that is split into groups', async () => {
    const { operation } = await stack.client.apply(spec('split', 'true', 4));
    await stack.client.waitFor('split', operation);
    const lost = (await stack.client.status('split')).nodes.filter(({ nodeId }) => nodeId !== 'app-1');
    await Promise.all(
      lost.map(({ providerid }) => stack.service.call('DELETE', `/v1/machines/${providerid ?? ''}`)),
    );
    await until('one machine is left', async () => (await stack.service.machines()).length === 1);
    await stack.client.probe('split');
    const reported = (): string[] =>
      of(alarm, 'split').flatMap(({ data }) =>
        (data['lost'] as { nodes: { nodeId: string }[] }).nodes.map(({ nodeId }) => nodeId),
      );
    await until('every loss is reported', () => reported().length >= 3);
    const { operation: deletion = '' } = await stack.client.delete('split');
    await stack.client.waitFor('split', deletion);
    await until('the deletion is reported', () => accepted(ops, 'split').at(-1) === 'operation.done');
    expect(new Set(reported())).toEqual(new Set(['app-2', 'app-3', 'app-4']));
    expect(reported()).toHaveLength(3);
  });

  it('a webhook receives events of reservations', async () => {
    await openGround(stack).add('lab-1');
    const { reservations } = stack.client;
    const hour = (n: number): string => new Date(Date.now() + n * 3_600_000).toISOString();
    const { id } = await reservations.create({
      image: 'host',
      user: 'ada',
      machines: ['lab-1'],
      from: hour(10),
      to: hour(12),
    });
    await reservations.cancel(id);
    const events = () => ops.received.filter(({ type }) => type.startsWith('reservation.'));
    await until('the cancellation is reported', () => events().length > 0);
    expect(events().map(({ type, isSigned, data }) => [type, isSigned, data])).toEqual([
      [
        'reservation.ended',
        true,
        {
          reservation: expect.objectContaining({ id, user: 'ada', image: 'host@1', machines: ['lab-1'] }),
          text: `${id} cancelled by test`,
        },
      ],
    ]);
  });

  it('a delivery follows no redirect, and is given up if the receiver is gone', async () => {
    alarm.answer(302);
    const held = await stack.client.apply(spec('moved', 'false'));
    await stack.client.waitFor('moved', held.operation);
    const failures = async () =>
      (await readDeliveries(stack.client.temporal, held.clusterUid)).flatMap(({ failure }) => failure ?? []);
    await until('the redirection is reported', async () => (await failures()).includes('alarm answered 302'));
    alarm.answer(410);
    await until('the delivery is given up', async () =>
      (await readDeliveries(stack.client.temporal, held.clusterUid)).some(
        ({ state, failure }) => state === 'given up' && failure?.includes('410'),
      ),
    );
    const { operation: deletion = '' } = await stack.client.delete('moved');
    await stack.client.waitFor('moved', deletion);
  });
});
