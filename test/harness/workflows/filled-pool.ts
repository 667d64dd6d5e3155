import { addRequest, holdNode } from '../../../src/model/pool/allocate.js';
import { packPool } from '../../../src/model/pool/carry.js';
import { configurePool } from '../../../src/model/pool/configure.js';
import { makeNode } from '../../../src/model/pool/make.js';
import { nodeBuilt } from '../../../src/model/pool/outcome.js';
import { lacksRoom as lacksPoolRoom, nodesLeft, refuseRequests } from '../../../src/model/pool/room.js';
import { changePoolNode, endRequest, newPool } from '../../../src/model/pool/state.js';
import { many, pad } from './filler.js';

export function fullPool(): object {
  const pool = newPool('full', 'u');
  const placement = { provider: 'local', type: 'local', site: 'default', flavor: 'small', image: 'host' };
  const offers = many(100, (number) => `label-${number}`);
  const fields = { text: pad(1_200) };
  configurePool(pool, {
    spec: {
      name: 'full',
      tenants: {},
      labels: Object.fromEntries(
        offers.map((name) => [name, { minReady: 0, spareAge: 600, onReturn: 'delete' }]),
      ),
      providerPools: {
        main: {
          provider: 'local',
          priority: 100,
          limits: {},
          attributes: {},
          launchAttempts: 3,
          labels: Object.fromEntries(
            offers.map((name) => [name, { hardware: 'small', image: 'host', fields, uses: { nodes: 1 } }]),
          ),
        },
      },
    },
    placements: {
      main: Object.fromEntries(offers.map((name) => [name, { ...placement, fields, digest: pad(18) }])),
    },
    providerTypes: { local: { deleteWithinMs: 130_000, claims: false } },
  });
  const now = Date.now();
  for (let number = 0; ; number += 1) {
    const demand = {
      id: `request-${number}`,
      labels: ['label-0'],
      requester: 'test',
      attributes: { text: pad(1_800) },
      leaseMs: 30 * 24 * 3_600_000,
    };
    if (number === 300 || refuseRequests(pool, [demand]) !== undefined) break;
    addRequest(pool, demand, now);
    if (number % 2 === 0) endRequest(pool, demand.id, 'returned', now);
    else
      pool.requests[demand.id] = {
        ...(pool.requests[demand.id] as (typeof pool.requests)[string]),
        state: 'failed',
        declined: { main: pad(500) },
        waits: pad(500),
      };
  }
  for (let number = 0; nodesLeft(pool) > 0; number += 1) {
    const label = `label-${number % 100}`;
    const { id } = makeNode(pool, {}, { providerPool: 'main', label, now });
    const payload = { providerid: `m-${number}`, text: pad(4_000) };
    const full = lacksPoolRoom(pool, id, payload) !== undefined;
    changePoolNode(pool, id, (node) => ({
      ...node,
      machine: {
        ...node.machine,
        placement: { ...placement, fields },
        payload: full ? {} : payload,
        facts: { machine: pad(18), CREATE: true, CONFIRM: true, services: {} },
      },
    }));
    nodeBuilt(pool, id, now);
    holdNode(pool, id, { by: 'test', comment: 'full' }, now);
  }
  pool.failures = Object.fromEntries(offers.map((name) => [`main/${name}`, { why: pad(500), at: now }]));
  pool.launchTimes = Object.fromEntries(
    offers.map((name) => [`main/${name}`, { acceptedMs: 1, readyMs: 1 }]),
  );
  return packPool(pool);
}
