import { ApplicationFailure, setHandler } from '@temporalio/workflow';
import { unfitText, type NodeReply } from '../../model/loan.js';
import { readMachineKey } from '../../model/names.js';
import { ownershipAmong, type NamedMachine, type Ownership } from '../../model/ownership.js';
import { admit } from '../../model/pool/admit.js';
import { refuseDemand } from '../../model/pool/check-demand.js';
import {
  refuseDeletion,
  refuseEndHold,
  refuseHold,
  type MessageRefusal,
} from '../../model/pool/check-messages.js';
import { emptyPool } from '../../model/pool/configure.js';
import { viewDrawn } from '../../model/pool/drawn.js';
import { addRequest, deleteNode, giveBack, holdNode, renewLease } from '../../model/pool/hand-out.js';
import { endHold, nodeGone } from '../../model/pool/outcome.js';
import type { DeleteNodesRequest, HoldRequest } from '../../model/pool/messages.js';
import type { NodeDemand } from '../../model/pool/request.js';
import { viewNode, viewPool, viewRequests, type RequestView } from '../../model/pool/view.js';
import { configure } from './configure.js';
import { imageNewsSignal } from '../image/messages.js';
import { nodeQuery } from '../messages.js';
import { noCheck } from '../no-check.js';
import {
  configureUpdate,
  deleteNodesUpdate,
  deletePoolUpdate,
  drawnQuery,
  endHoldUpdate,
  endUpdate,
  holdUpdate,
  nodePayloadQuery,
  poolDisownUpdate,
  poolNodesQuery,
  poolOwnersQuery,
  poolQuery,
  poolSpecQuery,
  renewUpdate,
  requestsQuery,
  requestUpdate,
} from './messages.js';
import { noteChange, type PoolMemory } from './memory.js';
import { learn } from './watch.js';

/** Nodes of one page. */
const pageSize = 500;

type Noted = <Args extends unknown[], Result>(apply: (...args: Args) => Result) => (...args: Args) => Result;

/** Updates change what the main loop looks at. */
function noterOf(memory: PoolMemory): Noted {
  return (apply) =>
    (...args) => {
      memory.updates += 1;
      noteChange(memory);
      return apply(...args);
    };
}

/** All that a pool answers. Handlers change state and are done at once; the main loop does the work. */
export function handleMessages(memory: PoolMemory): void {
  const { pool } = memory;
  const noted = noterOf(memory);
  setHandler(
    configureUpdate,
    noted((request) => configure(memory, request)),
    {
      validator: (_request) => refuse(leavingText(memory)),
      description: 'Bring the pool to a configuration.',
    },
  );
  setHandler(
    requestUpdate,
    noted((demands) => takeDemands(memory, demands)),
    { validator: (demands) => refuse(refuseDemands(memory, demands)), description: 'Ask for nodes.' },
  );
  setHandler(
    endUpdate,
    noted(({ ids, how }) => {
      for (const id of ids) giveBack(pool, id, how, Date.now());
    }),
    { validator: noCheck, description: 'End requests: give their nodes back, or cancel them.' },
  );
  setHandler(
    renewUpdate,
    noted((ids: readonly string[]) => ids.filter((id) => !renewLease(pool, id, Date.now()))),
    {
      validator: noCheck,
      description: 'Keep handed-out nodes for longer; gives the ids of requests that have none.',
    },
  );
  handleNodes(memory, noted);
  setHandler(
    deletePoolUpdate,
    noted(({ by }) => {
      emptyPool(pool, by, Date.now());
    }),
    { validator: noCheck, description: 'Delete all nodes, then the pool.' },
  );
  setHandler(poolDisownUpdate, (machines) => disown(memory, machines), {
    validator: noCheck,
    description: 'Say whose machines these are; keys of free ones are never used again.',
  });
  setHandler(imageNewsSignal, (news) => learn(memory, news), {
    description: 'An image of the library says which of its versions are offered.',
  });
  handleQueries(memory);
}

function handleNodes(memory: PoolMemory, noted: Noted): void {
  const { pool } = memory;
  setHandler(
    holdUpdate,
    noted(({ nodeId, ...hold }: HoldRequest) => {
      holdNode(pool, nodeId, hold, Date.now());
    }),
    {
      validator: checked((request: HoldRequest) => refuseHold(pool, request)),
      description: 'Keep a node for somebody who looks into it.',
    },
  );
  setHandler(
    endHoldUpdate,
    noted(({ nodeId }) => {
      endHold(pool, nodeId, Date.now());
    }),
    {
      validator: checked((request: { readonly nodeId: string }) => refuseEndHold(pool, request)),
      description: 'End a hold: the node is treated as a used one.',
    },
  );
  setHandler(
    deleteNodesUpdate,
    noted(({ nodeIds, by, abandon }: DeleteNodesRequest) => {
      for (const id of nodeIds) {
        deleteNode(pool, id, `deleted by ${by}`, Date.now());
        if (abandon === true && pool.nodes[id] !== undefined) nodeGone(pool, id, Date.now());
      }
    }),
    {
      validator: checked((request: DeleteNodesRequest) => refuseDeletion(pool, request)),
      description: 'Delete nodes.',
    },
  );
}

function handleQueries({ pool }: PoolMemory): void {
  setHandler(poolQuery, () => viewPool(pool, Date.now()), {
    description: 'Labels, provider pools and counts.',
  });
  setHandler(poolSpecQuery, () => pool.spec ?? null, { description: 'The configuration.' });
  setHandler(requestsQuery, (wanted) => viewRequests(pool, wanted), {
    description: 'Requests, with the credentials of handed-out nodes.',
  });
  setHandler(
    poolNodesQuery,
    (after) => {
      const all = Object.values(pool.nodes);
      const from = after === '' ? 0 : all.findIndex(({ machine }) => machine.nodenum > Number(after));
      const page = from < 0 ? [] : all.slice(from, from + pageSize);
      const last = page.at(-1);
      return {
        nodes: page.map((node) => viewNode(pool, node)),
        ...(last === undefined || last === all.at(-1) ? {} : { next: String(last.machine.nodenum) }),
      };
    },
    { description: 'A page of nodes, without secrets.' },
  );
  setHandler(drawnQuery, (after) => viewDrawn(pool, after), {
    description: 'A page of nodes that clusters drew, without secrets.',
  });
  setHandler(
    nodePayloadQuery,
    (nodeId) => {
      const node = pool.nodes[nodeId];
      return (node?.backing === undefined ? node : pool.nodes[node.backing])?.machine.payload ?? null;
    },
    { description: 'All that is known of a node, credentials included.' },
  );
  setHandler(nodeQuery, (nodeId) => nodeReply(pool, nodeId), {
    description: 'A node, credentials included, for who is to work on it.',
  });
  setHandler(poolOwnersQuery, (machines) => machines.map((machine) => ownershipOf(pool, machine)), {
    description: 'Whose machines are these?',
  });
}

/** Only a node that is held is nobody's in the meantime. */
function nodeReply({ name, uid, nodes }: PoolMemory['pool'], nodeId: string): NodeReply {
  const node = nodes[nodeId];
  if (node === undefined)
    return {
      is: 'unknown',
      why: `pool ${name} has no node ${nodeId}; 'heddle pool nodes ${name}' shows those it has`,
    };
  const { machine, state, backing, slots } = node;
  const shared =
    backing === undefined && slots === undefined
      ? undefined
      : `node ${nodeId} shares its machine with others`;
  const busy =
    shared ??
    (state === 'hold'
      ? unfitText(machine)
      : `node ${nodeId} is ${state}; hold it first: heddle pool hold ${name} ${nodeId}`);
  return { is: 'here', uid: machine.keyUid ?? uid, node: machine, busy };
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
  return undefined;
}

function leavingText({ pool }: PoolMemory): string | undefined {
  return pool.leaving === undefined
    ? undefined
    : `pool ${pool.name} is being deleted; apply again when it is gone`;
}

/** A validator that says of what kind its refusal is, so that clients need not read the words. */
function checked<Request>(
  find: (request: Request) => MessageRefusal | undefined,
): (request: Request) => void {
  return (request) => {
    const refusal = find(request);
    if (refusal !== undefined) throw ApplicationFailure.nonRetryable(refusal.why, refusal.is);
  };
}

function refuse(why: string | undefined): void {
  if (why !== undefined) throw new Error(why);
}

function ownershipOf({ nodes, uid }: PoolMemory['pool'], machine: NamedMachine): Ownership {
  const machines = Object.fromEntries(
    Object.entries(nodes).flatMap(([id, { machine: node, backing }]) =>
      backing === undefined && id === readMachineKey(machine.key)?.nodeId ? [[id, node]] : [],
    ),
  );
  return ownershipAmong(machines, uid, machine);
}

/** After a reset the counter may stand before nodes that were made: their numbers are not given again. */
function disown({ pool }: PoolMemory, machines: readonly NamedMachine[]): readonly Ownership[] {
  for (const { key } of machines) {
    const number = Number(/-([1-9][0-9]*)$/.exec(readMachineKey(key)?.nodeId ?? '')?.[1] ?? 0);
    if (readMachineKey(key)?.clusterUid === pool.uid)
      pool.counters.node = Math.max(pool.counters.node, number);
  }
  return machines.map((machine) => ownershipOf(pool, machine));
}
