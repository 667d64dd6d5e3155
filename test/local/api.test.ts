import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createBody, TestService } from '../harness/local/service.js';

const pageSchema = z.object({
  machines: z.array(z.object({ id: z.string(), state: z.string() })),
  next: z.string().optional(),
});
const journalSchema = z.object({
  entries: z.array(
    z.object({
      seq: z.number(),
      operation: z.string(),
      id: z.string().optional(),
      repeated: z.boolean().optional(),
    }),
  ),
});

describe('machine service API', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start(['--kind', 'directory']);
  });

  it('answers 401 without the key or with a wrong one, and shows its health to all callers', async () => {
    expect((await service.call('GET', '/v1/machines', undefined, 'wrong')).status).toBe(401);
    expect((await fetch(`${service.about.endpoint}/v1/machines`)).status).toBe(401);
    expect((await fetch(`${service.about.endpoint}/v1/health`)).status).toBe(200);
  });

  it('stores its key and its machines so that only their owner can read them', async () => {
    const id = await service.create();
    expect(statSync(service.about.apiKeyFile).mode & 0o777).toBe(0o600);
    expect(statSync(join(service.folder, 'machines', id)).mode & 0o777).toBe(0o700);
    expect(statSync(join(service.folder, 'machines', id, 'machine.json')).mode & 0o777).toBe(0o600);
  });

  it('returns an id at once and a running machine with its login later', async () => {
    const answer = await service.call('POST', '/v1/machines', createBody({ tags: { team: 'blue' } }));
    expect(answer).toMatchObject({ status: 201, body: { state: 'pending', repeated: false } });
    const { id } = z.object({ id: z.string() }).parse(answer.body);
    const machine = await service.waitForState(id, 'running');
    expect(machine.hostKey).toMatch(/^ssh-ed25519 AAAA/);
    expect(machine.password.length).toBeGreaterThan(16);
    expect(machine.port).toBeGreaterThan(0);
  });

  it('returns the same machine for the same token, also concurrently and after it is gone', async () => {
    const body = createBody();
    const answers = await Promise.all([1, 2, 3].map(() => service.call('POST', '/v1/machines', body)));
    const ids = answers.map((answer) => z.object({ id: z.string() }).parse(answer.body).id);
    expect(new Set(ids).size).toBe(1);
    expect(answers.map((answer) => String(answer.status)).toSorted()).toEqual(['200', '200', '201']);
    await service.call('DELETE', `/v1/machines/${ids[0]}`);
    await service.waitUntilGone(ids[0] ?? '');
    expect(await service.call('POST', '/v1/machines', body)).toMatchObject({
      status: 200,
      body: { id: ids[0], state: 'gone' },
    });
  });

  it('refuses a known token with other parameters', async () => {
    const body = createBody();
    await service.call('POST', '/v1/machines', body);
    expect(await service.call('POST', '/v1/machines', { ...body, flavor: 'large' })).toMatchObject({
      status: 409,
      body: { error: { code: 'IdempotencyMismatch' } },
    });
  });

  it.each([
    ['an unknown flavor', { flavor: 'huge' }, 'flavor: must be one of tiny'],
    ['an unknown image', { image: 'none' }, 'image: must be one of host'],
    ['a host name that is none', { hostname: 'a b' }, 'hostname: must be a host name'],
    ['a public key that is none', { publicKeys: ['hello'] }, 'publicKeys.0: must be an OpenSSH public key'],
    ['a field it does not know', { size: 1 }, 'size'],
  ])('refuses %s and creates nothing', async (_title, changes, text) => {
    const before = pageSchema.parse((await service.call('GET', '/v1/machines?limit=1000')).body).machines
      .length;
    const answer = await service.call('POST', '/v1/machines', createBody(changes));
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain(text);
    expect(
      pageSchema.parse((await service.call('GET', '/v1/machines?limit=1000')).body).machines.length,
    ).toBe(before);
  });

  it('lists by tags, key and state, in pages', async () => {
    const made = [];
    for (let index = 0; index < 5; index += 1)
      made.push(await service.create({ tags: { set: 'paged', odd: String(index % 2) } }));
    const seen: string[] = [];
    let page: string | undefined;
    do {
      const answer = pageSchema.parse(
        (
          await service.call(
            'GET',
            `/v1/machines?tag=set%3Dpaged&limit=2${page === undefined ? '' : `&page=${page}`}`,
          )
        ).body,
      );
      expect(answer.machines.length).toBeLessThanOrEqual(2);
      seen.push(...answer.machines.map((machine) => machine.id));
      page = answer.next;
    } while (page !== undefined);
    expect(seen.toSorted()).toEqual(made.toSorted());
    expect(
      pageSchema.parse((await service.call('GET', '/v1/machines?tag=set%3Dpaged&tag=odd%3D1')).body).machines,
    ).toHaveLength(2);
    expect(
      pageSchema.parse((await service.call('GET', '/v1/machines?tag=set%3Dpaged&state=stopped')).body)
        .machines,
    ).toHaveLength(0);
    expect((await service.call('GET', '/v1/machines?state=odd')).status).toBe(400);
  });

  it('accepts a deletion, removes the files, and answers 404 to the next one', async () => {
    const { id } = await service.createRunning();
    expect((await service.call('DELETE', `/v1/machines/${id}`)).status).toBe(202);
    await service.waitUntilGone(id);
    expect(() => statSync(join(service.folder, 'machines', id))).toThrow('ENOENT');
    expect((await service.call('DELETE', `/v1/machines/${id}`)).status).toBe(404);
    expect((await service.call('DELETE', '/v1/machines/m-never')).status).toBe(404);
  });

  it('switches power off and on, and lets a machine die', async () => {
    const { id } = await service.createRunning();
    expect(await service.call('POST', `/v1/machines/${id}/power`, { power: 'off' })).toMatchObject({
      status: 202,
      body: { state: 'stopped' },
    });
    await service.call('POST', `/v1/machines/${id}/power`, { power: 'on' });
    await service.waitForState(id, 'running');
    await service.call('POST', `/v1/machines/${id}/kill`);
    expect(await service.describe(id)).toMatchObject({
      state: 'failed',
      reason: 'it was killed through the API',
    });
  });

  it('does what was requested last if power is switched faster than it boots', async () => {
    const ids = await Promise.all([1, 2, 3, 4, 5].map(() => service.create()));
    for (const id of ids) {
      for (const power of ['off', 'on', 'off', 'on', 'off'])
        await service.call('POST', `/v1/machines/${id}/power`, { power });
    }
    await service.createRunning();
    for (const id of ids) expect((await service.describe(id)).state).toBe('stopped');
    for (const id of ids) await service.call('POST', `/v1/machines/${id}/power`, { power: 'on' });
    for (const id of ids) await service.waitForState(id, 'running');
  });

  it('deletes a machine that has not booted yet', async () => {
    const id = await service.create();
    await service.call('DELETE', `/v1/machines/${id}`);
    await service.waitUntilGone(id);
  });

  it('enforces the quota and reports usage', async () => {
    const quotaSchema = z.object({
      use: z.object({ machines: z.number() }),
      byFlavor: z.record(z.string(), z.object({ machines: z.number() })),
    });
    const { use, byFlavor } = quotaSchema.parse((await service.call('GET', '/v1/quota')).body);
    expect(byFlavor['tiny']?.machines).toBe(use.machines);
    await service.call('PUT', '/v1/quota', { machines: use.machines });
    const answer = await service.call('POST', '/v1/machines', createBody());
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'QuotaExceeded' } } });
    await service.call('PUT', '/v1/quota', { machines: 2_000 });
    expect((await service.call('POST', '/v1/machines', createBody())).status).toBe(201);
  });

  it('journals every accepted call, in order, and no refused one', async () => {
    const last =
      journalSchema.parse((await service.call('GET', '/v1/journal?limit=100000')).body).entries.at(-1)?.seq ??
      0;
    const body = createBody();
    const { id } = z
      .object({ id: z.string() })
      .parse((await service.call('POST', '/v1/machines', body)).body);
    await service.call('POST', '/v1/machines', body);
    await service.call('POST', '/v1/machines', createBody({ flavor: 'huge' }));
    await service.call('GET', '/v1/machines');
    await service.call('DELETE', `/v1/machines/${id}`);
    const { entries } = journalSchema.parse((await service.call('GET', `/v1/journal?after=${last}`)).body);
    expect(entries.map(({ operation, repeated }) => (repeated ? `${operation} again` : operation))).toEqual([
      'create',
      'create again',
      'list',
      'delete',
    ]);
    expect(entries.map((entry) => entry.seq)).toEqual([1, 2, 3, 4].map((step) => last + step));
    const creations = journalSchema.parse(
      (await service.call('GET', `/v1/journal?after=${last}&operation=create`)).body,
    ).entries;
    expect(creations.map((entry) => entry.id)).toEqual([id, id]);
  });

  it('answers 404, 405 and 400 to calls that are not part of the API', async () => {
    expect((await service.call('GET', '/v1/nothing')).status).toBe(404);
    expect((await service.call('PUT', '/v1/machines')).status).toBe(405);
    const response = await fetch(`${service.about.endpoint}/v1/machines`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.apiKey}` },
      body: '{',
    });
    expect(response.status).toBe(400);
  });
});
