import { connect as connectTcp } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createBody, TestService, until } from '../harness/local/service.js';

const idSchema = z.object({ id: z.string() });
const listSchema = z.object({ machines: z.array(z.object({ id: z.string() })) });
const faultsSchema = z.object({
  faults: z.array(z.object({ id: z.string(), met: z.number(), held: z.number() })),
});

describe('scripted faults', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start(['--kind', 'directory']);
  });
  afterEach(async () => {
    await service.call('DELETE', '/v1/faults');
  });

  const arm = async (fault: object): Promise<string> => {
    const answer = await service.call('POST', '/v1/faults', fault);
    expect(answer.status).toBe(201);
    return idSchema.parse(answer.body).id;
  };
  const idsWithTag = async (tag: string): Promise<readonly string[]> =>
    listSchema
      .parse((await service.call('GET', `/v1/machines?tag=${encodeURIComponent(tag)}`)).body)
      .machines.map((machine) => machine.id);

  it('answers 429 with Retry-After as often as requested, and creates nothing', async () => {
    await arm({ fault: 'http', status: 429, retryAfterSeconds: 2, count: 2, operation: 'create' });
    const body = createBody({ tags: { case: 'throttled' } });
    for (let time = 0; time < 2; time += 1) {
      const answer = await service.call('POST', '/v1/machines', body);
      expect(answer.status).toBe(429);
      expect(answer.headers.get('retry-after')).toBe('2');
    }
    expect(await idsWithTag('case=throttled')).toEqual([]);
    expect((await service.call('POST', '/v1/machines', body)).status).toBe(201);
  });

  it.each([500, 503])('answers %i', async (status) => {
    await arm({ fault: 'http', status, operation: 'list' });
    expect((await service.call('GET', '/v1/machines')).status).toBe(status);
    expect((await service.call('GET', '/v1/machines')).status).toBe(200);
  });

  it('meets only calls about machines that its filter names', async () => {
    await arm({ fault: 'http', status: 500, count: 0, hostname: 'db-*', tags: { tier: 'data' } });
    const attempt = async (hostname: string, tier: string) =>
      (await service.call('POST', '/v1/machines', createBody({ hostname, tags: { tier } }))).status;
    expect(await attempt('db-1', 'data')).toBe(500);
    expect(await attempt('db-1', 'web')).toBe(201);
    expect(await attempt('web-1', 'data')).toBe(201);
    expect((await service.call('GET', '/v1/machines')).status).toBe(200);
  });

  it('creates the machine and loses the answer; the same token finds it', async () => {
    await arm({ fault: 'lose-answer', operation: 'create' });
    const body = createBody({ tags: { case: 'lost' } });
    await expect(service.call('POST', '/v1/machines', body)).rejects.toThrow('fetch failed');
    const [id] = await idsWithTag('case=lost');
    expect(await service.call('POST', '/v1/machines', body)).toMatchObject({ status: 200, body: { id } });
  });

  it('holds an answer after the machine was created, until it is released', async () => {
    const fault = await arm({ fault: 'hold-answer', operation: 'create' });
    let answered = false;
    const answer = service
      .call('POST', '/v1/machines', createBody({ tags: { case: 'held' } }))
      .finally(() => {
        answered = true;
      });
    await until(async () => (await idsWithTag('case=held')).length === 1);
    const held = faultsSchema.parse((await service.call('GET', '/v1/faults')).body).faults;
    expect(held).toMatchObject([{ id: fault, met: 1, held: 1 }]);
    expect(answered).toBe(false);
    await service.call('DELETE', `/v1/faults/${fault}`);
    expect((await answer).status).toBe(201);
  });

  it('drops a held answer when its caller is gone', async () => {
    await arm({ fault: 'hold-answer', operation: 'create' });
    const caller = new AbortController();
    const call = fetch(`${service.about.endpoint}/v1/machines`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.apiKey}` },
      body: JSON.stringify(createBody()),
      signal: caller.signal,
    });
    const heldNow = async () =>
      faultsSchema.parse((await service.call('GET', '/v1/faults')).body).faults[0]?.held;
    await until(async () => (await heldNow()) === 1);
    caller.abort();
    await expect(call).rejects.toThrow('abort');
    await until(async () => (await heldNow()) === 0);
  });

  it('answers late', async () => {
    await arm({ fault: 'latency', ms: 300, operation: 'list' });
    const began = performance.now();
    await service.call('GET', '/v1/machines');
    expect(performance.now() - began).toBeGreaterThanOrEqual(299);
  });

  it('has no capacity', async () => {
    await arm({ fault: 'no-capacity' });
    expect(await service.call('POST', '/v1/machines', createBody())).toMatchObject({
      status: 503,
      body: { error: { code: 'InsufficientCapacity' } },
    });
  });

  it('hides a new machine from lists and describes, but not from its token or a deletion', async () => {
    await arm({ fault: 'list-lag', ms: 600_000 });
    const body = createBody({ tags: { case: 'hidden' } });
    const { id } = idSchema.parse((await service.call('POST', '/v1/machines', body)).body);
    expect(await idsWithTag('case=hidden')).toEqual([]);
    expect((await service.call('GET', `/v1/machines/${id}`)).status).toBe(404);
    expect(await service.call('POST', '/v1/machines', body)).toMatchObject({ status: 200, body: { id } });
    expect((await service.call('DELETE', `/v1/machines/${id}`)).status).toBe(202);
  });

  it('shows a hidden machine once the lag is over', async () => {
    await arm({ fault: 'list-lag', ms: 100 });
    const id = await service.create({ tags: { case: 'late' } });
    await until(async () => (await idsWithTag('case=late')).includes(id));
  });

  it('never boots', async () => {
    await arm({ fault: 'never-boots' });
    const id = await service.create();
    await service.createRunning();
    await sleep(100);
    expect((await service.describe(id)).state).toBe('booting');
  });

  it('boots without an SSH server that answers', async () => {
    await arm({ fault: 'no-ssh' });
    const machine = await service.createRunning();
    const socket = connectTcp(machine.port, machine.address);
    await once(socket, 'connect');
    const heard = await Promise.race([once(socket, 'data').then(() => 'something'), sleep(300, 'nothing')]);
    socket.destroy();
    expect(heard).toBe('nothing');
  });

  it('dies some time after it booted', async () => {
    await arm({ fault: 'dies', ms: 50 });
    const { id } = await service.createRunning();
    expect(await service.waitForState(id, 'failed')).toMatchObject({
      reason: 'it died because of a scripted fault',
    });
  });

  it('refuses an unknown fault', async () => {
    expect((await service.call('POST', '/v1/faults', { fault: 'gremlins' })).status).toBe(400);
    expect((await service.call('DELETE', '/v1/faults/f-none')).status).toBe(404);
  });
});
