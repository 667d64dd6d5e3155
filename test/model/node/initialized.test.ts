import { expect, it } from 'vitest';
import { noPeers, peersPage } from '../../../src/model/node/peers.js';
import {
  recordAdopted,
  recordBegun,
  recordDone,
  recordMachine,
  withoutService,
} from '../../../src/model/node/record.js';
import type { NodeState } from '../../../src/model/node/state.js';
import type { Step } from '../../../src/model/plan/plan.js';

const placement = {
  provider: 'p',
  type: 'fake',
  site: 's',
  flavor: 'f',
  image: 'i',
  fields: {},
  digest: 'd',
};
const blank: NodeState = {
  nodeId: 'db-1',
  group: 'db',
  nodenum: 1,
  hostname: 'db-1',
  incarnation: 1,
  payload: {},
  facts: { services: {} },
  services: ['db'],
  changedAt: 1,
  runs: {},
};
const step = (action: Step['action']): Step => ({ action, service: 'db', digest: 'd' });
const done = (node: NodeState, action: Step['action']): NodeState =>
  recordDone(recordBegun(node, step(action)), step(action), {}, { operation: 'o', peers: 1 });
const begun = recordBegun(done(done(blank, 'INSTALL'), 'CONFIGURE'), step('INITIALIZE'));

it.each([
  ['no service before INITIALIZE', done(done(blank, 'INSTALL'), 'CONFIGURE'), []],
  ['the service once INITIALIZE is begun', begun, ['db']],
  ['the service after INITIALIZE failed and CONFIGURE ran again', done(begun, 'CONFIGURE'), ['db']],
  ['the service while it is stopped', done(done(done(begun, 'INITIALIZE'), 'START'), 'STOP'), ['db']],
  ['a service that was taken off without REMOVE', withoutService(done(begun, 'INITIALIZE'), 'db'), ['db']],
  ['no service after REMOVE', done(done(begun, 'INITIALIZE'), 'REMOVE'), []],
  [
    'all services on a machine of a previous run of the cluster',
    recordAdopted(blank, { keyUid: 'u', incarnation: 1, providerid: 'm', placement }),
    ['db'],
  ],
  ['no service on the next machine', recordMachine(done(begun, 'INITIALIZE'), placement), []],
] as const)('peers see as initialized %s', (_what, node, initialized) => {
  const state = { nodes: { [node.nodeId]: node }, peers: { ...noPeers, version: 1 } };
  expect(peersPage(state as never, { since: 0 }).changed['db-1']?.initialized).toEqual(initialized);
});
