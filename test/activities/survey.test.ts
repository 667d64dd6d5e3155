import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.js';
import type { ProbedNode } from '../../src/model/node/probe.js';
import { mergePayload } from '../../src/model/node/payload.js';
import { PluginError } from '../../src/plugins/errors.js';
import { TestService } from '../harness/local/service.js';
import { until } from '../harness/until.js';
import { makeHostKey, startNode } from '../harness/ssh-server.js';
import { account, type MachineBench, openMachineBench, taskOn } from '../harness/activities/machines.js';

let service: TestService;
let bench: MachineBench;
beforeAll(async () => {
  service = await TestService.start(['--kind', 'directory']);
  bench = await openMachineBench(service);
});
afterAll(() => bench.close());
beforeEach(() => service.call('DELETE', '/v1/faults'));

const changed = (node: ProbedNode, config: JsonObject): ProbedNode => ({
  ...node,
  config: mergePayload(node.config, config),
});
const textOf = (node: ProbedNode, key: string): string => {
  const value = node.config[key];
  return typeof value === 'string' ? value : '';
};
const idOf = (node: ProbedNode): string => textOf(node, 'providerid');

async function listCalls(): Promise<number> {
  const { body } = await service.call('GET', '/v1/journal?operation=list&limit=100000');
  return (body as { readonly entries: readonly unknown[] }).entries.length;
}

async function failureOf(attempt: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await attempt.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof ApplicationFailure) return error;
  throw error;
}

describe('PROBE_NODES', () => {
  it('reports no machines that are as they should be, and lists an account once for all callers', async () => {
    const nodes = [await bench.up('fine-1'), await bench.up('fine-2')];
    const before = await listCalls();
    const replies = await Promise.all([bench.survey(nodes), bench.survey(nodes), bench.survey(nodes)]);
    expect(replies).toEqual(Array.from({ length: 3 }, () => ({ observations: [], unknown: [] })));
    expect((await listCalls()) - before).toBe(1);
  });

  it('distinguishes machines that are gone, switched off, dead, moved, rebooted and unreachable', async () => {
    const [gone, off, dead, fine] = await Promise.all(
      ['gone', 'off', 'dead', 'fine'].map((name) => bench.up(`apart-${name}`)),
    );
    if (gone === undefined || off === undefined || dead === undefined || fine === undefined)
      throw new Error('not up');
    await service.call('DELETE', `/v1/machines/${idOf(gone)}`);
    await service.call('POST', `/v1/machines/${idOf(off)}/power`, { power: 'off' });
    await service.call('POST', `/v1/machines/${idOf(dead)}/kill`);
    const reply = await bench.survey([gone, off, dead, fine]);
    expect(reply.unknown).toEqual([]);
    expect(reply.observations).toEqual([
      {
        nodeId: 'apart-gone',
        incarnation: 1,
        seen: 'gone',
        // It goes while it is probed.
        why: expect.stringMatching(/^here (is deleting machine|no longer has machine|reports that machine)/),
      },
      {
        nodeId: 'apart-off',
        incarnation: 1,
        seen: 'stopped',
        why: `machine ${idOf(off)} should run, but here reports that it is switched off`,
      },
      {
        nodeId: 'apart-dead',
        incarnation: 1,
        seen: 'stopped',
        why: `machine ${idOf(dead)} should run, but here reports that it failed`,
      },
    ]);
    const seen = async (config: JsonObject): Promise<unknown> =>
      (await bench.survey([changed(fine, config)])).observations;
    const address = textOf(fine, 'ipaddress');
    expect(await seen({ ipaddress: '127.0.0.1' })).toMatchObject([
      { seen: 'moved', why: `machine ${idOf(fine)} is now at ${address}, not at 127.0.0.1` },
    ]);
    expect(await seen({ 'boot-id': 'another/1' })).toMatchObject([
      { seen: 'rebooted', why: `machine ${idOf(fine)} was restarted after it was confirmed` },
    ]);
    expect(await seen({ 'boot-id': 'another/1', ipaddress: '127.0.0.1' })).toMatchObject([
      { seen: 'rebooted', why: expect.stringContaining(', not at 127.0.0.1') },
    ]);
    expect(await seen({ 'ssh-port': 1 })).toMatchObject([
      { seen: 'unreachable', why: expect.stringContaining('here reports that machine') },
    ]);
    expect(await seen({ 'ssh-host-key': makeHostKey().line })).toMatchObject([
      { seen: 'unreachable', why: expect.stringContaining('shows host key') },
    ]);
  });

  it('uses the boot id that CONFIRM left in the payload', async () => {
    const node = await bench.up('boot');
    expect(node.config['boot-id']).toMatch(/^\S+\/\S+$/);
  });

  it('reports a machine that was switched on again as rebooted, not as switched off', async () => {
    const node = await bench.up('again');
    await service.call('POST', `/v1/machines/${idOf(node)}/power`, { power: 'off' });
    expect((await bench.survey([node])).observations).toMatchObject([{ seen: 'stopped' }]);
    await service.call('POST', `/v1/machines/${idOf(node)}/power`, { power: 'on' });
    await service.waitForState(idOf(node), 'running');
    // The shared list still shows it switched off.
    expect(await bench.survey([node])).toMatchObject({ observations: [{ seen: 'rebooted' }], unknown: [] });
  });

  it('reports a refused login as unknown, not as drift', async () => {
    const node = changed(await bench.up('refused'), { 'ssh-auth': { password: 'not this' } });
    expect(await bench.survey([node])).toEqual({
      observations: [],
      unknown: [{ nodeId: 'refused', incarnation: 1, why: expect.stringContaining('refused the login') }],
    });
  });

  it.each(['EMFILE', 'ENETUNREACH'])(
    'reports a machine as unknown if the worker itself has %s',
    async (code) => {
      const node = await bench.up(`starved-${code.toLowerCase()}`);
      const cause = Object.assign(new Error(`connect ${code}`), { code });
      const starved = await openMachineBench(service, {
        like: bench,
        changes: {
          nodes: {
            ...bench.parts.nodes,
            probe: () => Promise.reject(new PluginError('Retryable', 'cannot reach it', { cause })),
          },
        },
      });
      expect(await starved.survey([node], 3)).toEqual({
        observations: [],
        unknown: [{ nodeId: node.nodeId, incarnation: 1, why: 'cannot reach it' }],
      });
    },
  );

  it('reports an incarnation that was never created as gone, regardless of others of the node', async () => {
    const node = await bench.up('twice');
    const { providerid: _id, ...config } = node.config;
    expect((await bench.survey([{ ...node, config, incarnation: 2 }])).observations).toMatchObject([
      { seen: 'gone', incarnation: 2, why: 'here no longer has machine of key u/twice/2' },
    ]);
    expect((await bench.survey([{ ...node, config }])).observations).toEqual([]);
  });
});

describe('PROBE_NODES that asks only whether machines answer', () => {
  const ask = (nodes: readonly ProbedNode[]) =>
    bench.looks.PROBE_NODES({ clusterId: 'web', provider: account, nodes, answersWithinMs: 2_000 });

  it('logs in, and does not ask the provider', async () => {
    const [fine, dead] = [await bench.up('answers'), await bench.up('silent')];
    const before = await listCalls();
    await service.call('POST', `/v1/machines/${idOf(dead)}/kill`);
    const again = changed({ ...fine, nodeId: 'rebooted' }, { 'boot-id': 'another/1' });
    const refused = changed({ ...fine, nodeId: 'refused' }, { 'ssh-auth': { password: 'not this' } });
    const reply = await ask([fine, dead, again, refused]);
    expect(reply).toEqual({
      observations: [
        {
          nodeId: 'silent',
          incarnation: 1,
          seen: 'unreachable',
          why: expect.stringMatching(`^machine ${idOf(dead)}: .*${textOf(dead, 'ipaddress')}`),
        },
        { nodeId: 'rebooted', incarnation: 1, seen: 'rebooted', why: expect.any(String) },
      ],
      unknown: [{ nodeId: 'refused', incarnation: 1, why: expect.stringContaining('refused the login') }],
    });
    expect(await listCalls()).toBe(before);
  });
});

describe('PROBE_NODES of machines behind a jump host', () => {
  it('reports them as unknown while the jump host does not answer, and as unreachable while it does', async () => {
    const nodes = [await bench.up('behind-1'), await bench.up('behind-2')];
    const host = await startNode({ password: 'let me in' });
    const { port, user, hostKey } = host.target;
    const behind = (jumpPort: number): Promise<MachineBench> =>
      openMachineBench(service, {
        like: bench,
        changes: {
          providers: {
            here: {
              type: 'local',
              site: 'here',
              fields: { endpoint: service.about.endpoint, apiKey: service.apiKey },
              jump: { host: '127.0.0.1', port: jumpPort, user, hostKey, password: 'let me in' },
            },
          },
        },
      });
    const ask = async (jumpPort: number) =>
      (await behind(jumpPort)).looks.PROBE_NODES({
        clusterId: 'web',
        provider: account,
        nodes,
        answersWithinMs: 2_000,
      });
    try {
      const why = expect.stringContaining('its jump host does not answer') as string;
      expect(await ask(1)).toMatchObject({
        observations: [],
        unknown: nodes.map(({ nodeId }) => ({ nodeId, incarnation: 1, why })),
      });
      // This one lets us in and forwards nothing.
      const { observations, unknown } = await ask(port);
      expect(observations.map(({ seen }) => seen)).toEqual(['unreachable', 'unreachable']);
      expect(unknown).toEqual([]);
    } finally {
      await host.close();
    }
  });
});

describe('PROBE_NODES of a provider that fails', () => {
  it('retries, and finally reports which machines are unknown', async () => {
    const node = await bench.up('failing');
    const { body } = await service.call('POST', '/v1/faults', {
      fault: 'http',
      status: 503,
      operation: 'list',
      count: 0,
    });
    expect(body).toMatchObject({ id: expect.any(String) });
    // Lists of a moment ago are used again.
    const failure = await until('the list is asked for', () =>
      failureOf(bench.survey([node])).catch(() => undefined),
    );
    expect(failure).toMatchObject({
      type: 'Retryable',
      nonRetryable: false,
      message: expect.stringMatching(/^PROBE_NODES web: .*503/),
    });
    expect(await bench.survey([node], 3)).toEqual({
      observations: [],
      unknown: [{ nodeId: 'failing', incarnation: 1, why: expect.stringContaining('503') }],
    });
  });

  it('does not retry permanent errors', async () => {
    const node = await bench.up('locked');
    const locked = await openMachineBench(service, { like: bench, apiKey: 'wrong-key-wrong-key' });
    try {
      const { observations, unknown } = await locked.survey([node]);
      expect({ observations, unknown }).toEqual({
        observations: [],
        unknown: [{ nodeId: 'locked', incarnation: 1, why: expect.stringContaining('401') }],
      });
      const elsewhere = { clusterId: 'web', provider: { ...account, name: 'elsewhere' }, nodes: [node] };
      expect((await locked.looks.PROBE_NODES(elsewhere)).unknown).toMatchObject([
        { why: expect.stringContaining('no provider "elsewhere"') },
      ]);
    } finally {
      await locked.close();
    }
  });
});

describe('PROBE_NODES of a provider whose lists lag', () => {
  let slow: MachineBench;
  beforeAll(async () => {
    slow = await openMachineBench(service, { like: bench, descriptor: { consistencyWindowMs: 1_500 } });
  });
  afterAll(() => slow.close());

  it('does not report a machine as gone that is only not listed yet', async () => {
    await service.call('POST', '/v1/faults', { fault: 'list-lag', ms: 1_000, hostname: 'lag-1' });
    await service.call('POST', '/v1/faults', { fault: 'list-lag', ms: 3_600_000, hostname: 'lag-2' });
    const create = async (nodeId: string): Promise<ProbedNode> => ({
      nodeId,
      incarnation: 1,
      keyUid: 'u',
      config: (await slow.run('CREATE', taskOn(nodeId))).result ?? {},
    });
    const [young, hidden] = [await create('lag-1'), await create('lag-2')];
    const [patient, hasty] = await Promise.all([slow.survey([young], 3), bench.survey([hidden], 3)]);
    expect(patient.observations).toEqual([]);
    // What a provider shows that does not lag is believed at once.
    expect(hasty.observations).toMatchObject([{ seen: 'gone' }]);
  });

  it('looks again after the consistency window before it reports a machine as gone', async () => {
    const node = await slow.up('lag-3');
    await service.call('DELETE', `/v1/machines/${idOf(node)}`);
    await service.waitUntilGone(idOf(node));
    const asked = Date.now();
    expect((await slow.survey([node])).observations).toMatchObject([{ nodeId: 'lag-3', seen: 'gone' }]);
    // A timer may be some milliseconds early by the clock.
    expect(Date.now() - asked).toBeGreaterThanOrEqual(1_400);
  });
});
