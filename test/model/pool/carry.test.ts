import { expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { mostCarried } from '../../../src/model/carried.js';
import { packPool, unpackPool } from '../../../src/model/pool/carry.js';
import { addRequest } from '../../../src/model/pool/allocate.js';
import { nodeBuilt } from '../../../src/model/pool/outcome.js';
import { changePoolNode, type PoolState } from '../../../src/model/pool/state.js';
import { recordDone, recordMachine } from '../../../src/model/node/record.js';
import { offer, openPool, providerPool } from './support.js';

/** With machines as the local provider has them. */
function filled(count: number): PoolState {
  const pool = openPool({ labels: { a: {} }, providerPools: { main: providerPool({ a: offer() }) } });
  const placement = pool.placements['main']?.['a'];
  if (placement === undefined) throw new Error('no placement');
  for (let number = 0; number < count; number += 1)
    addRequest(
      pool,
      {
        id: `6bd0d0a1-9a4c-4c51-8d8f-${String(number).padStart(12, '0')}`,
        labels: ['a'],
        requester: 'somebody@somewhere',
      },
      1_795_289_176_619,
    );
  admit(pool, 1_795_289_176_619);
  const result = {
    providerid: 'm-0123456789abcdef',
    ipaddress: '127.238.208.2',
    'ssh-port': 2222,
    'ssh-auth': { user: 'root', password: '0123456789abcdef01234567' },
    'ssh-host-key': `ssh-ed25519 ${'A'.repeat(68)}`,
    'boot-id': '6bd0d0a1-9a4c-4c51-8d8f-000000000000',
  };
  for (const id of Object.keys(pool.nodes)) {
    changePoolNode(pool, id, (node) => {
      const created = recordDone(
        recordMachine(node.machine, placement),
        { action: 'CREATE' },
        {},
        { operation: 'launch', peers: 0 },
      );
      return {
        ...node,
        machine: recordDone(created, { action: 'CONFIRM' }, result, { operation: 'launch', peers: 0 }),
      };
    });
    nodeBuilt(pool, id, 1_795_289_176_700);
  }
  return pool;
}

it('equals its state after it was carried', () => {
  const pool = filled(3);
  addRequest(pool, { id: 'waits', labels: ['a'], requester: 'me', attributes: { build: 7 } }, 5);
  expect(unpackPool(JSON.parse(JSON.stringify(packPool(pool))) as ReturnType<typeof packPool>)).toEqual(pool);
});

it('fits into one message with 2,000 nodes and their requests', () => {
  expect(JSON.stringify(packPool(filled(2_000))).length).toBeLessThan(mostCarried);
});
