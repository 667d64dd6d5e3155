import type {
  NodeRow,
  RowFacts,
  RowServiceFacts,
  CurrentCluster,
  NodeSummary,
  PlannedFacts,
  PlannedServiceFacts,
  Repeatable,
} from './current.js';
import { peerScope } from '../work/service-work.js';
import { outlinesOf } from '../order/dependencies.js';
import type { Outlines } from '../order/dependencies.js';
import type { Json } from '../../json.js';
import { keyOfOperation } from '../../cluster/operation.js';
import { uidOfKey } from '../../names.js';
import type { MayRemove, NodeState } from '../../node/state.js';
import { stableJson } from '../../node/payload.js';
import { peersChangedAt } from '../../node/peers.js';
import { indexesOf, rangesOf, type Range } from '../ranges.js';
import { countsBefore, servicesOf, type ClusterState } from '../../cluster/state.js';

/** What only the whole cluster knows of its nodes. */
export type Summarised = Pick<
  ClusterState,
  | 'spec'
  | 'achieved'
  | 'before'
  | 'retired'
  | 'operation'
  | 'stopped'
  | 'scaled'
  | 'achievedCounts'
  | 'peers'
  | 'imports'
  | 'readers'
>;

/**
 * The cluster as planning sees it: nodes with equal facts together, so that its size follows the kinds of
 * nodes.
 */
export function summarise(state: Summarised & Pick<ClusterState, 'nodes' | 'groups'>): CurrentCluster {
  const operation = keyOfOperation(state);
  const inGroups = Object.values(state.groups).flatMap(({ rows }) => rows);
  return summariseRows(state, [...rowsOf(Object.values(state.nodes), operation), ...inGroups]);
}

/** The same of nodes that more than one workflow carries. */
function summariseRows(state: Summarised, rows: readonly NodeRow[]): CurrentCluster {
  const services = outlinesOf(servicesOf(state));
  const operation = keyOfOperation(state);
  const nodes: readonly NodeSummary[] = mergeEqual(
    rows.map((row) => ({ ...row, facts: plannedFacts(state, services, row, operation) })),
  );
  const { stopped, imports, spec, readers = {} } = state;
  const read = Object.entries(readers).map(([cluster, values]) => [cluster, Object.keys(values)] as const);
  return {
    nodes,
    services,
    ...(spec?.lock === true ? { locked: true } : {}),
    ...(stopped.length === 0 ? {} : { stopped }),
    ...(read.length === 0 ? {} : { readers: Object.fromEntries(read) }),
    ...scaledFacts(state),
    ...(imports === undefined ? {} : { imports }),
  };
}

function scaledFacts(state: Summarised): Pick<CurrentCluster, 'scaled' | 'scaledBefore'> {
  const { scaled } = state;
  const before = countsBefore(state);
  return {
    ...(Object.keys(scaled).length === 0 ? {} : { scaled }),
    ...(stableJson(before) === stableJson(scaled) ? {} : { scaledBefore: before }),
  };
}

/** The facts of some nodes, seen from an operation. */
export function rowsOf(nodes: readonly NodeState[], operation: string): readonly NodeRow[] {
  return mergeEqual(
    nodes.map((node) => ({
      group: node.group,
      nodes: [[indexOf(node), indexOf(node)] as const],
      facts: rowFacts(node, operation),
    })),
  ).map((row) => ({ ...row, operation }));
}

function indexOf(node: NodeState): number {
  return Number(node.nodeId.slice(node.group.length + 1));
}

function mergeEqual<Facts>(
  rows: readonly { readonly group: string; readonly nodes: readonly Range[]; readonly facts: Facts }[],
): readonly { readonly group: string; readonly nodes: readonly Range[]; readonly facts: Facts }[] {
  const merged = new Map<
    string,
    { readonly group: string; readonly facts: Facts; readonly indexes: number[] }
  >();
  for (const { group, nodes, facts } of rows) {
    const key = `${group} ${stableJson(facts as Json)}`;
    const same = merged.get(key) ?? { group, facts, indexes: [] };
    for (const index of indexesOf(nodes)) same.indexes.push(index);
    merged.set(key, same);
  }
  return [...merged.values()].map(({ group, facts, indexes }) => ({
    group,
    facts,
    nodes: rangesOf(indexes.toSorted((a, b) => a - b)),
  }));
}

function rowFacts(
  {
    facts: { EXEC: executed, mayRemove, initialized: _initialized, ...facts },
    excluded,
    failure,
    keyUid,
  }: NodeState,
  operation: string,
): RowFacts {
  const services = Object.entries(facts.services).map(
    ([name, { doneIn, begun, ...kept }]): [string, RowServiceFacts] => {
      const redone = repeatable.filter((action) => doneIn?.[action] === operation);
      const tells = begun === 'STOP' || (begun === 'START' && kept.START === undefined);
      return [name, { ...kept, ...(tells ? { begun } : {}), ...(redone.length === 0 ? {} : { redone }) }];
    },
  );
  return {
    ...facts,
    ...(executed === operation ? { executed: true } : {}),
    ...(keyUid === undefined ? {} : { adopted: true }),
    ...(mayRemove?.operation === operation ? { mayRemove: withoutOperation(mayRemove) } : {}),
    ...(excluded === undefined || failure === undefined
      ? {}
      : { excluded: excluded === uidOfKey(operation) ? ('now' as const) : ('before' as const) }),
    services: Object.fromEntries(services),
  };
}

function withoutOperation({ operation: _operation, ...named }: MayRemove): Omit<MayRemove, 'operation'> {
  return named;
}

const repeatable: readonly Repeatable[] = ['CONFIGURE', 'START', 'STOP'];

/** Ignores values of a row that belong to another operation. */
function plannedFacts(state: Summarised, services: Outlines, row: NodeRow, operation: string): PlannedFacts {
  // Whatever replaces a held operation tries all nodes again, and names itself what it removes.
  const isUnderWay =
    row.operation === operation && state.operation !== undefined && state.operation.state !== 'held';
  const entries = Object.entries(row.facts.services).map(
    ([name, { peers, redone, ...facts }]): [string, PlannedServiceFacts] => {
      const stale =
        facts.CONFIGURE !== undefined &&
        (peers ?? 0) < peersChangedAt(state.peers, peerScope(services, name));
      return [
        name,
        {
          ...facts,
          ...(stale ? { peersStale: true } : {}),
          ...(isUnderWay && redone !== undefined ? { redone } : {}),
        },
      ];
    },
  );
  const { executed, excluded, mayRemove, toReplace, ...facts } = row.facts;
  return {
    ...facts,
    ...(isUnderWay && executed === true ? { executed } : {}),
    ...(isUnderWay && mayRemove !== undefined ? { mayRemove } : {}),
    ...(isUnderWay && excluded !== undefined ? { excluded } : {}),
    ...(isUnderWay && toReplace !== undefined ? { toReplace } : {}),
    services: Object.fromEntries(entries),
  };
}
