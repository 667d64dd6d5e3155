import { beforeAll, describe, expect, it } from 'vitest';
import { TestService } from '../harness/local/service.js';

describe('volumes and addresses of the machine service', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start(['--kind', 'directory']);
  });

  it.each([
    ['volumes', { sizeGb: 5 }],
    ['addresses', {}],
  ])(
    '%s are created once for a token, found by key, attached, and deleted only while unused',
    async (kind, more) => {
      const body = { key: `k-${kind}`, token: `token-${kind}`, tags: { team: 'blue' }, ...more };
      const made = await service.call('POST', `/v1/${kind}`, body);
      expect(made).toMatchObject({ status: 201, body: { key: body.key, tags: { team: 'blue' } } });
      const { id } = made.body as { readonly id: string };
      expect(await service.call('POST', `/v1/${kind}`, body)).toMatchObject({ status: 200, body: { id } });
      expect(await service.call('POST', `/v1/${kind}`, { ...body, key: 'other' })).toMatchObject({
        status: 409,
        body: { error: { code: 'IdempotencyMismatch' } },
      });
      expect(await service.call('GET', `/v1/${kind}?key=${body.key}`)).toMatchObject({
        body: { [kind]: [{ id }] },
      });
      expect(await service.call('GET', `/v1/${kind}?key=none`)).toMatchObject({ body: { [kind]: [] } });

      const [one, other] = [await service.create(), await service.create()];
      expect(await service.call('POST', `/v1/${kind}/${id}/attach`, { machine: 'm-none' })).toMatchObject({
        status: 404,
      });
      for (const _again of [1, 2])
        expect(await service.call('POST', `/v1/${kind}/${id}/attach`, { machine: one })).toMatchObject({
          status: 200,
          body: { machine: one },
        });
      expect(await service.call('POST', `/v1/${kind}/${id}/attach`, { machine: other })).toMatchObject({
        status: 409,
      });
      expect(await service.call('DELETE', `/v1/${kind}/${id}`)).toMatchObject({
        status: 409,
        body: { error: { code: 'Conflict' } },
      });
      await service.end('SIGTERM');
      await service.restart();
      expect(await service.call('GET', `/v1/${kind}`)).toMatchObject({
        body: { [kind]: [{ id, machine: one }] },
      });
      await service.call('DELETE', `/v1/machines/${one}`);
      await service.waitUntilGone(one);
      expect(await service.call('DELETE', `/v1/${kind}/${id}`)).toMatchObject({ status: 200 });
      expect(await service.call('DELETE', `/v1/${kind}/${id}`)).toMatchObject({ status: 404 });
    },
  );

  it('refuses invalid requests, and creates nothing', async () => {
    expect(
      await service.call('POST', '/v1/volumes', { key: 'k', token: 'long-enough', sizeGb: 0 }),
    ).toMatchObject({ status: 400, body: { error: { message: expect.stringContaining('sizeGb') } } });
    expect(await service.call('GET', '/v1/volumes')).toMatchObject({ body: { volumes: [] } });
  });
});
