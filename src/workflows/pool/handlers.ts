import type { Handlers } from '../handlers.js';
import { poolContract, type DeleteNodesRequest } from '../../model/pool/contract.js';
import { uuid4 } from '@temporalio/workflow';
import type { RequestView } from '../../schema/output/pool.js';
import { unfitText, type NodeReply } from '../../model/node/lease.js';
import { readMachineKey } from '../../model/names.js';
import {
  ownershipOf,
  withoutKeysOf,
  type NamedMachine,
  type Ownership,
  type KeyHolders,
} from '../../model/node/ownership.js';
import type { NodeState } from '../../model/node/state.js';
import { changePoolNode } from '../../model/pool/state.js';
import { admit } from '../../model/pool/admit.js';
import { refuseDemand } from '../../model/pool/check-demand.js';
import {
  refuseDeletion,
  refuseEndHold,
  refuseHold,
  refusePriority,
} from '../../model/pool/check-messages.js';
import { emptyPool } from '../../model/pool/configure.js';
import { exportedText, type RecordsReply } from '../../model/move.js';
import { packPool, type CarriedPool } from '../../model/pool/carry.js';
import { failuresOfLastDay } from '../../model/pool/failures.js';
import { refuseExport } from '../../model/pool/export.js';
import { viewAllocated } from '../../model/pool/allocated.js';
import { addRequest, deleteNode, returnNodes, holdNode, renewLease } from '../../model/pool/allocate.js';
import { endHold, nodeGone } from '../../model/pool/outcome.js';
import { nodesWithoutUser } from '../../model/pool/node.js';
import type { NodeDemand } from '../../model/pool/request.js';
import { changePriority } from '../../model/pool/order.js';
import { viewNode, viewPool, viewRequests } from '../../model/pool/view.js';
import { viewWaiting } from '../../model/pool/view-waiting.js';
import { configure } from './configure.js';
import { refusing, showOrigins, type Message, handlersOf } from '../entity.js';
import type { PoolMemory } from './memory.js';
import { maxSpecBytes, refuseGrowth } from '../../model/carried.js';
import { refuseRequests } from '../../model/pool/room.js';
import { sealedAt } from '../taken-messages.js';
import { noteImage } from './watch-images.js';

/** Nodes of one page. */
const pageSize = 500;

/** The messages of a pool. Handlers change the state and return at once; the step function does the work. */
export function messagesOf(memory: PoolMemory): readonly Message[] {
  const { pool } = memory;
  /** An exported pool refuses what would change its records. */
  const unlessExported = refusing(() => exportedText('pool', pool));
  return handlersOf(poolContract, {
    updates: {
      configure: [
        (request) => configure(memory, request),
        unlessExported(
          ({ spec }) =>
            leavingText(memory) ??
            refuseGrowth(
              `the configuration of pool ${pool.name}`,
              { state: {}, added: spec, most: maxSpecBytes },
              'distribute its labels and providers over several pools',
            ),
        ),
      ],
      request: [
        (demands) => takeDemands(memory, demands),
        unlessExported((demands) => refuseDemands(memory, demands)),
      ],
      end: [
        ({ ids, how }) => {
          for (const id of ids) returnNodes(pool, id, how, Date.now());
        },
        unlessExported(),
      ],
      renew: [(ids) => ids.filter((id) => !renewLease(pool, id, Date.now())), unlessExported()],
      priority: [
        ({ id, priority }) => changePriority(pool, id, priority),
        unlessExported((request) => refusePriority(pool, request)),
      ],
      hold: [
        ({ nodeId, ...hold }) => {
          holdNode(pool, nodeId, hold, Date.now());
        },
        unlessExported((request) => refuseHold(pool, request)),
      ],
      endHold: [
        ({ nodeId }) => {
          endHold(pool, nodeId, Date.now());
        },
        unlessExported((request) => refuseEndHold(pool, request)),
      ],
      deleteNodes: [
        (request) => deleteNodes(pool, request, Date.now()),
        unlessExported((request) => refuseDeletion(pool, request)),
      ],
      deletePool: [({ by }) => emptyPool(pool, by, Date.now()), unlessExported()],
      export: [
        ({ by, cancel }) => {
          if (cancel === true) delete pool.exported;
          else pool.exported ??= { id: uuid4(), by, at: Date.now() };
          showOrigins(pool);
        },
        ({ cancel }) => (cancel === true ? undefined : refuseExport(pool)),
      ],
      disown: (machines) => disown(memory, machines),
    },
    signals: { imageUpdate: (update) => noteImage(memory, update) },
    queries: queriesOf(memory),
  });
}

function queriesOf(memory: PoolMemory): Handlers<typeof poolContract>['queries'] {
  const { pool } = memory;
  return {
    pool: () => viewPool(pool, Date.now()),
    records: () => recordsOf(memory),
    failures: () => failuresOfLastDay(pool, Date.now()),
    spec: () => pool.spec ?? null,
    requests: (wanted) => viewRequests(pool, wanted),
    waiting: () => viewWaiting(pool, Date.now()),
    nodes: (after) => {
      const all = Object.values(pool.nodes);
      const from = after === '' ? 0 : all.findIndex(({ machine }) => machine.nodenum > Number(after));
      const page = from < 0 ? [] : all.slice(from, from + pageSize);
      const last = page.at(-1);
      return {
        nodes: page.map((node) => viewNode(pool, node)),
        next: last === undefined || last === all.at(-1) ? undefined : String(last.machine.nodenum),
      };
    },
    allocated: (after) => viewAllocated(pool, after),
    payload: (nodeId) => {
      const node = pool.nodes[nodeId];
      return (node?.backing === undefined ? node : pool.nodes[node.backing])?.machine.payload ?? null;
    },
    node: (nodeId) => nodeReply(pool, nodeId),
    owners: (machines) => machines.map((machine) => ownershipInPool(pool, machine)),
  };
}

/** They no longer change once the tasks that were in flight have ended. */
function recordsOf({ pool, work, checking }: PoolMemory): RecordsReply<CarriedPool> | null {
  if (pool.exported === undefined) return null;
  const awaits = [...Object.keys(work), ...Object.keys(checking)];
  return awaits.length > 0
    ? { awaits }
    : { records: { version: 1, exported: pool.exported, carried: packPool(pool) } };
}

/** Only a node on hold has no other user. */
function nodeReply(pool: PoolMemory['pool'], nodeId: string): NodeReply {
  const { name, uid, nodes } = pool;
  const node = nodes[nodeId];
  if (node === undefined)
    return {
      is: 'unknown',
      why: `pool ${name} has no node ${nodeId}; run 'heddle pool nodes ${name}' to see its nodes`,
    };
  const { machine, state, backing, slots } = node;
  const shared =
    backing === undefined && slots === undefined
      ? undefined
      : `node ${nodeId} shares its machine with others`;
  const busy =
    exportedText('pool', pool) ??
    shared ??
    (state === 'hold'
      ? unfitText(machine)
      : `node ${nodeId} is ${state}; hold it first: heddle pool hold ${name} ${nodeId}`);
  return { is: 'here', uid: machine.keyUid ?? uid, node: machine, busy };
}

function deleteNodes(
  pool: PoolMemory['pool'],
  { nodeIds, by, abandon, withoutUser }: DeleteNodesRequest,
  now: number,
): readonly string[] {
  const at = sealedAt();
  const free = new Set(nodesWithoutUser(Object.values(pool.nodes)).map(({ id }) => id));
  const ids = withoutUser === true ? nodeIds.filter((id) => free.has(id)) : nodeIds;
  for (const id of ids) {
    const isUnknown = pool.nodes[id]?.machine.createBegun === true;
    deleteNode(pool, id, `deleted by ${by}`, now);
    if (abandon !== true) continue;
    // Its failures asked to look for its machine first.
    if (isUnknown && at !== undefined) pool.absenceConfirmedAt = at;
    if (pool.nodes[id] !== undefined) nodeGone(pool, id, now);
  }
  return ids;
}

function takeDemands(memory: PoolMemory, demands: readonly NodeDemand[]): readonly RequestView[] {
  const { pool } = memory;
  const now = Date.now();
  for (const demand of demands) addRequest(pool, demand, now);
  // What is ready is handed out with the answer; all else is the main loop's, once for all that came.
  if (
    !memory.draining &&
    Object.values(pool.nodes).some(({ state, request }) => state === 'ready' && request === undefined)
  )
    admit(pool, now);
  return viewRequests(pool, { ids: demands.map(({ id }) => id) }).requests;
}

function refuseDemands({ pool }: PoolMemory, demands: readonly NodeDemand[]): string | undefined {
  for (const demand of demands) {
    const why = refuseDemand(pool, demand);
    if (why !== undefined) return demands.length === 1 ? why : `request ${JSON.stringify(demand.id)}: ${why}`;
  }
  return refuseRequests(pool, demands);
}

function leavingText({ pool }: PoolMemory): string | undefined {
  return pool.leaving === undefined
    ? undefined
    : `pool ${pool.name} is being deleted; apply again when it is gone`;
}

function ownershipInPool(pool: PoolMemory['pool'], machine: NamedMachine): Ownership {
  return numberOf(pool.uid, machine) > pool.counters.node
    ? { is: 'unmade' }
    : ownershipOf(ownNodes(pool, [machine]), machine);
}

/** After a reset, machines that the pool does not know may have been made: their keys are not used again. */
function disown({ pool }: PoolMemory, machines: readonly NamedMachine[]): readonly Ownership[] {
  for (const machine of machines)
    pool.counters.node = Math.max(pool.counters.node, numberOf(pool.uid, machine));
  const { nodes } = withoutKeysOf(machines, ownNodes(pool, machines));
  for (const [id, machine] of Object.entries(nodes))
    changePoolNode(pool, id, (node) => ({ ...node, machine }));
  return machines.map((machine) => ownershipInPool(pool, machine));
}

/** The nodes that these machines may be of, but for those on a machine of another node. */
function ownNodes(
  { nodes, uid }: PoolMemory['pool'],
  machines: readonly NamedMachine[],
): KeyHolders<NodeState> {
  const own: Record<string, NodeState> = {};
  for (const { key } of machines) {
    const { nodeId = '' } = readMachineKey(key) ?? {};
    const node = Object.hasOwn(nodes, nodeId) ? nodes[nodeId] : undefined;
    if (node !== undefined && node.backing === undefined) own[nodeId] = node.machine;
  }
  // A number without a node is that of a deleted one.
  return { nodes: own, uid, incarnation: Infinity };
}

/** The number in the name of a node of the pool of this uid; 0 for any other machine. */
function numberOf(uid: string, { key }: NamedMachine): number {
  const { clusterUid, nodeId = '' } = readMachineKey(key) ?? {};
  return clusterUid === uid ? Number(/-([1-9][0-9]*)$/.exec(nodeId)?.[1] ?? 0) : 0;
}
