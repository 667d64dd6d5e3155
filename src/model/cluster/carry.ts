import { bounds, partBytes } from '../bounds.js';
import { jsonBytes, maxSpecBytes, mostSent } from '../carried.js';
import type { NodeRow, RowFacts } from '../plan/facts/current.js';
import { newValueTable } from '../shared-values.js';
import type { NodeGroup } from './group.js';
import type { ClusterState, QueuedOperation } from './state.js';
import {
  packNodes,
  packWork,
  unpackNodes,
  unpackWork,
  withoutHealth,
  type PackedNodes,
  type PackedWork,
} from './work.js';

const specKeys = ['spec', 'target', 'achieved', 'before'] as const;
type SpecKey = (typeof specKeys)[number];

/** A cluster as one run hands it to the next: what is the same is said once. */
export interface CarriedCluster
  extends
    Omit<ClusterState, SpecKey | 'queue' | 'work' | 'groups' | 'nodes'>,
    PackedNodes,
    Partial<Record<SpecKey, number>> {
  readonly specs: readonly unknown[];
  /** Specs are indexes of `specs`. */
  readonly queue: readonly (Omit<QueuedOperation, 'spec'> & { readonly spec?: number })[];
  readonly work?: PackedWork;
  readonly groups: Readonly<Record<string, CarriedGroup>>;
  /** Of the rows of groups. */
  readonly facts: readonly RowFacts[];
}

type CarriedGroup = Omit<NodeGroup, 'rows'> & {
  /** Facts are indexes of `facts`. */
  readonly rows: readonly (Omit<NodeRow, 'facts'> & { readonly facts: number })[];
};

/**
 * What does not fit is left out if the next run can have it again: checks find the health of services, groups
 * report their rows and outputs once more, and the rest of an operation is planned anew.
 */
export function packCluster(state: ClusterState, most = mostSent): CarriedCluster {
  let left = state;
  let packed = pack(left);
  for (const leaveOut of [withoutHealthOfNodes, withoutRows, withoutWork]) {
    if (jsonBytes(packed) <= most) break;
    left = leaveOut(left);
    packed = pack(left);
  }
  return packed;
}

function withoutHealthOfNodes(state: ClusterState): ClusterState {
  return { ...state, nodes: withoutHealth(state.nodes) };
}

function withoutRows(state: ClusterState): ClusterState {
  return withGroups(state, ({ outputNodes: _outputNodes, ...group }) => ({
    ...group,
    rows: [],
    unread: true,
  }));
}

function withoutWork(state: ClusterState): ClusterState {
  const { work, coordination: _coordination, ...rest } = state;
  if (work === undefined) return state;
  return withGroups({ ...rest, unplanned: true }, (group) => ({ ...group, waits: [] }));
}

function withGroups(state: ClusterState, change: (group: NodeGroup) => NodeGroup): ClusterState {
  const groups = Object.entries(state.groups).map(([id, group]) => [id, change(group)] as const);
  return { ...state, groups: Object.fromEntries(groups) };
}

function pack(state: ClusterState): CarriedCluster {
  const { spec, target, achieved, before, queue, work, groups, nodes, ...rest } = state;
  const specs = newValueTable<unknown>();
  const facts = newValueTable<RowFacts>();
  const named = Object.entries({ spec, target, achieved, before }).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, specs.indexOf(value)] as const],
  );
  return {
    ...rest,
    ...packNodes(nodes),
    ...Object.fromEntries(named),
    queue: queue.map(({ spec: own, ...queued }) =>
      own === undefined ? queued : { ...queued, spec: specs.indexOf(own) },
    ),
    ...(work === undefined ? {} : { work: packWork(work) }),
    groups: Object.fromEntries(
      Object.entries(groups).map(([id, { rows, ...group }]) => [
        id,
        { ...group, rows: rows.map((row) => ({ ...row, facts: facts.indexOf(row.facts) })) },
      ]),
    ),
    specs: specs.values,
    facts: facts.values,
  };
}

export function unpackCluster({
  specs,
  facts,
  queue,
  work,
  groups,
  nodes,
  placements,
  ...rest
}: CarriedCluster): ClusterState {
  const named = specKeys.flatMap((key) => {
    const index = rest[key];
    return index === undefined ? [] : [[key, specs[index]] as const];
  });
  return {
    ...rest,
    ...Object.fromEntries(named),
    nodes: unpackNodes({ nodes, placements }),
    queue: queue.map(({ spec, ...queued }) =>
      spec === undefined ? queued : { ...queued, spec: specs[spec] },
    ),
    ...(work === undefined ? {} : { work: unpackWork(work) }),
    groups: Object.fromEntries(
      Object.entries(groups).map(([id, { rows, ...group }]) => [
        id,
        { ...group, rows: rows.map((row) => ({ ...row, facts: facts[row.facts] })) },
      ]),
    ),
  } as ClusterState;
}

/** What an operation gets while it runs: failures, and why it is held or was rejected. */
const bytesForOutcome = 35_000;

/** Largest operation without its spec, in bytes. */
const maxIntentBytes = 100_000;
/**
 * Why an operation cannot wait in a cluster: the cluster must fit into one message to its next run, with all
 * its nodes at their largest.
 */
export function refuseTooLarge(
  state: ClusterState,
  added: Pick<QueuedOperation, 'spec' | 'consent'> & { readonly intent: unknown },
): string | undefined {
  const { name, queue } = state;
  const { intent } = added;
  const spec = jsonBytes(added.spec);
  if (spec > maxSpecBytes)
    return `the spec of cluster ${name} has ${spec} bytes as JSON; the limit is ${maxSpecBytes}; ${smaller}`;
  const request = jsonBytes([intent, added.consent]);
  if (request > maxIntentBytes)
    return `the request has ${request} bytes as JSON; the limit is ${maxIntentBytes}; name fewer nodes or services in it`;
  const carried = pack({
    ...state,
    queue: [
      ...queue,
      { operation: intent, spec: added.spec, consent: added.consent } as unknown as QueuedOperation,
    ],
  });
  const { wanted } = bounds.cluster;
  const bytes = partBytes(wanted, carried);
  const room = wanted.most - bytesForOutcome;
  if (bytes <= room) return undefined;
  return (
    `cluster ${name} would store ${bytes} bytes of specs and operations; the limit is ${room}; ` +
    `wait until queued operations have ended, or cancel one ('heddle status ${name}' lists them), or ${smaller}`
  );
}

const smaller =
  "make the spec smaller: store large scripts and files as resources ('heddle resource put') and refer to those";
