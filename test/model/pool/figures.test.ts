import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { figuresOf } from '../../../src/model/pool/metrics.js';
import { addRequest } from '../../../src/model/pool/allocate.js';
import { nodeBuilt } from '../../../src/model/pool/outcome.js';
import { begin, offer, openPool, providerPool } from './support.js';

const pool = openPool({
  labels: { a: {}, b: {} },
  providerPools: {
    main: providerPool({ a: offer(), b: offer({ slots: 4 }) }, { limits: { nodes: 2, cores: 8 } }),
  },
});
for (const [index, label] of ['a', 'b', 'a'].entries())
  addRequest(pool, { id: `r${index}`, labels: [label], requester: 'test' }, 1);
admit(pool, 1);
begin(pool, 'a-1');
nodeBuilt(pool, 'a-1', 2);

describe('metrics of a pool', () => {
  const figures = figuresOf(pool);
  const valueOf = (name: string, tags: object): number | undefined =>
    figures.find(
      (figure) =>
        figure.name === name && Object.entries(tags).every(([key, value]) => figure.tags[key] === value),
    )?.value;

  it('count nodes by label, provider and state, and not the machine that nodes share', () => {
    expect(
      figures
        .filter(({ name }) => name === 'heddle_pool_nodes')
        .map(({ tags, value }) => [tags['label'], tags['provider'], tags['state'], value]),
    ).toEqual([
      ['a', 'cloud', 'in-use', 1],
      ['b', 'cloud', 'building', 1],
    ]);
  });

  it('report waiting requests, and the use of limits', () => {
    expect(valueOf('heddle_pool_requests', { state: 'requested' })).toBe(1);
    expect(valueOf('heddle_pool_requests', { state: 'fulfilled' })).toBe(1);
    expect(valueOf('heddle_pool_waiting', { label: 'a' })).toBe(1);
    expect(valueOf('heddle_pool_waiting', { label: 'b' })).toBe(0);
    expect(valueOf('heddle_pool_limit', { provider_pool: 'main', of: 'nodes' })).toBe(2);
    expect(valueOf('heddle_pool_used', { provider_pool: 'main', of: 'nodes' })).toBe(2);
    expect(valueOf('heddle_pool_used', { provider_pool: 'main', of: 'cores' })).toBe(0);
    expect(valueOf('heddle_pool_paused', { provider: 'cloud' })).toBe(0);
  });

  it('count waiting requests and nodes of tenants that the configuration names, and of others together', () => {
    const shared = openPool({
      labels: { a: {} },
      providerPools: { main: providerPool({ a: offer() }, { limits: { nodes: 1 } }) },
      tenants: { acme: {} },
      weights: { beta: 2 },
    });
    for (const tenant of ['acme', 'acme', 'beta', 'made-up', undefined])
      addRequest(
        shared,
        { id: `${tenant}-${shared.counters.request}`, labels: ['a'], requester: 'test', tenant },
        1,
      );
    admit(shared, 1);
    const found = figuresOf(shared).flatMap(({ name, tags, value }) =>
      /^heddle_pool_tenant_(waiting|nodes)$/.test(name) ? [[name.slice(19), tags['tenant'], value]] : [],
    );
    expect(found).toEqual([
      ['waiting', 'acme', 1],
      ['nodes', 'acme', 1],
      ['waiting', 'beta', 1],
      ['nodes', 'beta', 0],
      ['waiting', '', 2],
      ['nodes', '', 0],
    ]);
  });

  it('show since when the oldest request of a tenant waits, and 0 if none does', () => {
    const late = openPool({
      labels: { a: {} },
      providerPools: { main: providerPool({ a: offer() }, { limits: { nodes: 1 } }) },
      tenants: { acme: {}, beta: {} },
    });
    for (const [index, tenant] of ['beta', 'acme', 'acme', 'made-up'].entries())
      addRequest(late, { id: `r${index}`, labels: ['a'], requester: 'test', tenant }, (index + 1) * 60_000);
    admit(late, 1);
    const since = figuresOf(late).flatMap(({ name, tags, value }) =>
      name === 'heddle_pool_tenant_oldest_request_timestamp_seconds' ? [[tags['tenant'], value]] : [],
    );
    expect(since).toEqual([
      ['acme', 120],
      ['beta', 0],
      ['', 240],
    ]);
  });

  it('name each thing once', () => {
    const names = figures.map(({ name, tags }) => JSON.stringify([name, tags]));
    expect(new Set(names).size).toBe(names.length);
  });
});
