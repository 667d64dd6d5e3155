import { poolNodeStates } from '../../model/pool/node.js';
import type { PoolSpec } from '../../model/pool/spec.js';
import type { PoolNodeView, RequestView } from '../../schema/output/pool.js';
import type { ServerOptions } from '../configuration.js';
import { formatDuration } from '../format.js';
import type { Output } from '../output.js';
import { noteSilent, verb } from '../verb.js';
import { failuresOf } from './task-failures.js';
import { askPools } from './pool-verb.js';
import { nodeName, whyOf, withoutSecrets } from './request-text.js';

interface Filters extends ServerOptions {
  /** A provider account. */
  readonly provider?: string;
  readonly state?: string;
  readonly label?: string;
}

type InPool<View> = View & { readonly pool: string };

export const nodes = verb(
  async (session, name: string | undefined, filters: Filters) => {
    const { answers, silent } = await askPools(session, name, async (pool) => {
      const found = (await pool.nodes()).filter((node) => isNodeWanted(node, filters));
      if (found.length === 0) return [];
      const failures = await failuresOf(session, pool);
      return found.map((node) => ({ ...node, pool: pool.name, why: failures.get(node.id) ?? node.why }));
    });
    return { found: answers.flat(), silent };
  },
  {
    worker: true,
    document: ({ found, silent }, pool) =>
      pool === undefined
        ? { nodes: found, silent }
        : { pool, nodes: found.map(({ pool: _pool, ...node }) => node) },
    print: (output, { found, silent }, pool) => {
      if (found.length === 0) output.line('no nodes');
      else printNodes(output, found, pool === undefined);
      noteSilent(output, 'pool', silent);
    },
  },
);

export const requests = verb(
  async (session, name: string | undefined, filters: Filters) => {
    const { answers, silent } = await askPools(session, name, async (pool) => {
      const spec = filters.provider === undefined ? null : await pool.spec();
      const found = (await pool.requests()).filter((request) => isRequestWanted(request, spec, filters));
      return found.map((request) => ({ ...withoutSecrets(request), pool: pool.name }));
    });
    return { found: answers.flat(), silent };
  },
  {
    worker: true,
    document: ({ found, silent }, pool) =>
      pool === undefined
        ? { requests: found, silent }
        : { pool, requests: found.map(({ pool: _pool, ...request }) => request) },
    print: (output, { found, silent }, pool) => {
      if (found.length === 0) output.line('no requests');
      else printRequests(output, found, pool === undefined);
      noteSilent(output, 'pool', silent);
    },
  },
);

function isNodeWanted(node: PoolNodeView, { provider, state, label }: Filters): boolean {
  return (
    (provider === undefined || node.provider === provider) &&
    (state === undefined || node.state === state) &&
    (label === undefined || node.label === label)
  );
}

function isRequestWanted(request: RequestView, spec: PoolSpec | null, filters: Filters): boolean {
  const { provider, state, label } = filters;
  return (
    (provider === undefined || isOfAccount(request, spec, provider)) &&
    (state === undefined || request.state === state) &&
    (label === undefined || request.labels.includes(label))
  );
}

/** Whether the request has nodes of the account or, while it has none, could get them there. */
function isOfAccount(request: RequestView, spec: PoolSpec | null, account: string): boolean {
  const { providerPool, labels, declined = {}, nodes = [] } = request;
  return Object.entries(spec?.providerPools ?? {}).some(
    ([name, { provider, labels: offers }]) =>
      provider === account &&
      (providerPool === undefined
        ? request.state === 'requested' &&
          !Object.hasOwn(declined, name) &&
          labels.every((label) => Object.hasOwn(offers, label))
        : nodes.some((node) => node.providerPool === name) || name === providerPool),
  );
}

const nodeColumns = [
  'POOL',
  'NODE',
  'LABEL',
  'PROVIDER POOL',
  'STATE',
  'FOR',
  'AGE',
  'ADDRESS',
  'IMAGE',
  'REQUESTER',
  'WHY',
];

function printNodes(output: Output, found: readonly InPool<PoolNodeView>[], isOfAll: boolean): void {
  // Versions of images are shown where there are any.
  const hasVersions = found.some(({ image }) => image !== undefined);
  const isShown = (_cell: string, index: number): boolean =>
    (isOfAll || nodeColumns[index] !== 'POOL') && (hasVersions || nodeColumns[index] !== 'IMAGE');
  const ordered = found.toSorted(
    (one, other) =>
      poolNodeStates.indexOf(one.state) - poolNodeStates.indexOf(other.state) || one.since - other.since,
  );
  const now = Date.now();
  output.table(
    nodeColumns.filter(isShown),
    ordered.map((node) => nodeRow(node, now).filter(isShown)),
  );
}

function nodeRow(node: InPool<PoolNodeView>, now: number): readonly string[] {
  const { pool, id, label, providerPool, state, since, createdAt, ipaddress, image, replaced, requester } =
    node;
  const { hold: held, why, slots, backing } = node;
  const left = held?.until === undefined ? '' : `, ${formatDuration(held.until - now)} left`;
  const reasons = [
    held && `${held.comment} (${held.by}${left})`,
    why,
    slots === undefined ? backing && `on ${backing}` : `machine of ${slots} nodes`,
  ];
  return [
    pool,
    id,
    label,
    providerPool,
    state,
    formatDuration(now - since),
    formatDuration(now - createdAt),
    ipaddress ?? '-',
    `${image ?? '-'}${replaced === undefined ? '' : ' (old)'}`,
    requester ?? '-',
    reasons.filter((reason) => reason !== undefined).join('; ') || '-',
  ];
}

function printRequests(output: Output, found: readonly InPool<RequestView>[], isOfAll: boolean): void {
  const columns = ['REQUEST', 'STATE', 'FOR', 'AGE', 'LABELS', 'PRIORITY', 'REQUESTER', 'NODES', 'WHY'];
  const now = Date.now();
  output.table(
    [...(isOfAll ? ['POOL'] : []), ...columns],
    found.map((request) => [
      ...(isOfAll ? [request.pool] : []),
      request.id,
      request.state,
      formatDuration(now - request.since),
      request.createdAt === undefined ? '-' : formatDuration(now - request.createdAt),
      request.labels.join(','),
      String(request.priority ?? '-'),
      request.requester,
      request.nodes?.map(nodeName).join(',') ?? request.making?.join(',') ?? '-',
      whyOf(request),
    ]),
  );
}
