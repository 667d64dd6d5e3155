import { claimsContract, lockContract, rateLimiterContract } from '../account/contract.js';
import { who } from '../argument-shapes.js';
import { artifactPartContract, artifactsContract } from '../artifact/contract.js';
import { clusterContract, groupContract, planContract, revisionContract } from '../cluster/contract.js';
import type { Arguments, Contract } from '../contract.js';
import { imageContract } from '../image/contract.js';
import { machineContract, nodeMachineContract } from '../machine/contract.js';
import { poolContract } from '../pool/contract.js';
import { reservationsContract } from '../reservation/contract.js';
import {
  anything,
  count,
  flag,
  id,
  jsonObject,
  list,
  number,
  object,
  optional,
  outline,
  text,
} from '../shape.js';
import { readUpdateName } from './read.js';

const withoutMessages = { updates: {}, signals: {}, queries: {} };

/**
 * The contracts of all workflows of Heddle, by type. A message without a row is refused. Shapes
 * hold what a handler relies on; whether a request makes sense now is the handler's question. State
 * that a workflow carries to its next run is checked in outline only: the run before sealed it.
 */
export const contracts = {
  cluster: clusterContract,
  group: groupContract,
  revision: revisionContract,
  plan: planContract,
  pool: poolContract,
  machine: machineContract,
  nodeMachine: nodeMachineContract,
  image: imageContract,
  reservations: reservationsContract,
  artifacts: artifactsContract,
  artifactPart: artifactPartContract,
  lock: lockContract,
  rateLimiter: rateLimiterContract,
  claims: claimsContract,
  delivery: {
    ...withoutMessages,
    ids: /^delivery\//,
    start: [
      object({
        webhook: id(),
        event: object({ id: text(500), type: text(100), timestamp: text(40), data: jsonObject(65_536) }),
      }),
    ],
  },
  sweep: {
    ...withoutMessages,
    ids: /^sweep/,
    start: [
      object({
        policy: object({ minimumAgeMs: number(0, 1e12), cap: count(), delete: flag }),
        named: optional(list(text(500), 10_000)),
        earlier: optional(list(outline({}), 10_000)),
        resumed: optional(object({ at: text(40), by: who(), uids: list(text(500), 10_000) })),
      }),
    ],
  },
  periodicChecks: { ...withoutMessages, ids: /^periodic-checks/, start: [] },
} satisfies Readonly<Record<string, Contract>>;

/** The contract of a workflow type; undefined for a type that is not Heddle's. */
export function contractOf(workflowType: string): Contract | undefined {
  return find<Contract>(contracts, workflowType);
}

/** The arguments of a message; undefined if the workflow has no such message. */
export function argumentsOf(
  contract: Contract,
  kind: 'updates' | 'signals' | 'queries',
  name: string,
): Arguments | undefined {
  if (kind === 'updates' && name === readUpdateName)
    return Object.keys(contract.queries).length === 0 ? undefined : readArguments;
  return find(contract[kind], name)?.args;
}

/** Whether the read is repeated, the name of a query, and its arguments, which have shapes of their own. */
const readArguments: Arguments = [flag, text(100), optional(anything), optional(anything)];

/** True where the workflow id is one of Heddle's, and its workflow has such a message. */
export function isHeddleMessage(
  workflowId: string,
  kind: 'updates' | 'signals' | 'queries',
  name: string,
): boolean {
  return Object.values<Contract>(contracts).some(
    (contract) => contract.ids.test(workflowId) && argumentsOf(contract, kind, name) !== undefined,
  );
}

/** The problem with the arguments of a message; undefined if there is none. */
export function checkArguments(shapes: Arguments, args: readonly unknown[]): string | undefined {
  if (args.length > shapes.length) return `has ${args.length} arguments; the maximum is ${shapes.length}`;
  const place = (index: number): string => (shapes.length === 1 ? '' : `argument ${index + 1}`);
  for (const [index, shape] of shapes.entries()) {
    const problem = shape(args[index], place(index));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function find<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
