import { HeddleError } from '../../client/errors.js';
import { listPools } from '../../client/list.js';
import { PoolClient } from '../../client/pool/pool-client.js';
import { poolWorkflowId } from '../../model/names.js';
import { amountsText } from '../../model/pool/amounts.js';
import { poolNodeStates } from '../../model/pool/node.js';
import type { PoolNodeView } from '../../model/pool/view.js';
import { stripSecrets } from '../../model/strip-secrets.js';
import { cleanLine } from '../clean-text.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { lookAtWorkflows } from '../look/server-view.js';
import { findTroubles } from '../look/troubles.js';
import { createOutput, type Output } from '../output.js';
import { requireWorker, withSession, type Session } from '../session.js';
import { formatTable } from '../table.js';
import { formatAge, formatDuration } from '../time-text.js';

/** The pools that the server knows of; no worker is needed. */
export async function list(options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const pools = await withSession(options, ({ temporal }) => listPools(temporal));
  output.document({ pools });
  if (pools.length === 0) output.line('no pools\nnext: heddle pool apply FILE');
  else
    printTable(
      output,
      ['POOL', 'AGE'],
      pools.map(({ name, createdAt }) => [name, formatAge(createdAt, Date.now())]),
    );
  return exitCodes.ok;
}

export async function labels(name: string, options: ServerOptions): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    const view = await pool.view();
    output.document(view);
    printTable(
      output,
      ['LABEL', 'READY', 'KEPT', 'BUILDING', 'IN USE', 'OTHER', 'WAITING', 'SERVED BY'],
      Object.entries(view.labels).map(([label, { nodes: counts, minReady, waiting, servedBy }]) => {
        const { ready = 0, building = 0, 'in-use': inUse = 0, ...others } = counts;
        const other = Object.values(others).reduce((sum, count) => sum + count, 0);
        return [
          label,
          ready,
          minReady,
          building,
          inUse,
          other,
          waiting,
          servedBy
            .map(
              ({ providerPool, provider, image }) =>
                `${providerPool} (${provider}${image === undefined ? '' : `, ${image.version ?? image.lacks ?? image.name}`})`,
            )
            .join(', '),
        ].map(String);
      }),
    );
    output.line();
    printTable(
      output,
      ['PROVIDER POOL', 'PROVIDER', 'PRIORITY', 'USED', 'LIMITS', 'QUOTA', 'PAUSED'],
      Object.entries(view.providerPools).map(([key, { provider, priority, used, limits, quota, paused }]) => [
        key,
        provider,
        String(priority),
        amountsText(used) || '-',
        amountsText(limits) || 'none',
        quota === undefined ? '-' : amountsText(quota) || '-',
        paused ?? '-',
      ]),
    );
    for (const [tenant, { used, limits }] of Object.entries(view.tenants))
      output.line(cleanLine(`tenant ${tenant}: ${amountsText(used) || 'nothing'} of ${amountsText(limits)}`));
    return exitCodes.ok;
  });
}

export async function nodes(name: string, options: ServerOptions): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    const found = await pool.nodes();
    output.document({ pool: name, nodes: found });
    const now = Date.now();
    if (found.length === 0) output.line('no nodes');
    else printNodes(output, found, now);
    return exitCodes.ok;
  });
}

/** Everything that is known of every pool, or of one; without secrets. */
export async function dump(name: string | undefined, options: ServerOptions): Promise<number> {
  const output = createOutput({ json: true });
  return withSession(options, async (session) => {
    await requireWorker(session);
    const names = name === undefined ? (await listPools(session.temporal)).map((pool) => pool.name) : [name];
    const pools: object[] = [];
    for (const each of names) pools.push(await dumpOne(session, each));
    output.document({ pools });
    return exitCodes.ok;
  });
}

async function dumpOne({ temporal }: Session, name: string): Promise<object> {
  const pool = new PoolClient(temporal, name);
  const requests = (await pool.requests()).map((request) => ({
    ...request,
    ...(request.nodes === undefined
      ? {}
      : { nodes: request.nodes.map((node) => ({ ...node, payload: stripSecrets(node.payload) })) }),
  }));
  return { ...(await pool.view()), spec: await pool.spec(), nodes: await pool.nodes(), requests };
}

export async function withPool(
  name: string,
  options: ServerOptions,
  use: (pool: PoolClient, output: Output, session: Session) => Promise<number>,
): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    return use(new PoolClient(session.temporal, name), output, session).catch(async (error: unknown) => {
      throw await withTroubles(session, name, error);
    });
  });
}

/** A pool that does not answer though there are workers: what the server knows of it says more. */
async function withTroubles({ temporal }: Session, name: string, error: unknown): Promise<unknown> {
  if (!(error instanceof HeddleError) || error.code !== 'NoWorker') return error;
  const view = await lookAtWorkflows(temporal, [poolWorkflowId(name)], `pool ${name}`).catch(() => undefined);
  const troubles = view === undefined ? [] : findTroubles(view, Date.now());
  const next = troubles[0]?.next?.command;
  return troubles.length === 0
    ? error
    : new HeddleError(
        'NoWorker',
        `pool ${name} does not answer\n${troubles.map(({ text }) => `stuck: ${text}`).join('\n')}`,
        { cause: error, next },
      );
}

export function printTable(
  output: Output,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const [head = '', ...lines] = formatTable(columns, rows);
  output.line(output.style('bold', head));
  for (const line of lines) output.line(line);
}

/** Versions of images are shown where there are any. */
function printNodes(output: Output, found: readonly PoolNodeView[], now: number): void {
  const columns = [
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
  const hasVersions = found.some(({ image }) => image !== undefined);
  const isShown = (_cell: string, index: number): boolean => hasVersions || columns[index] !== 'IMAGE';
  printTable(
    output,
    columns.filter(isShown),
    inOrder(found).map((node) => rowOf(node, now).filter(isShown)),
  );
}

function inOrder(found: readonly PoolNodeView[]): readonly PoolNodeView[] {
  return found.toSorted(
    (one, other) =>
      poolNodeStates.indexOf(one.state) - poolNodeStates.indexOf(other.state) || one.since - other.since,
  );
}

function rowOf(
  {
    id,
    label,
    providerPool,
    state,
    since,
    createdAt,
    ipaddress,
    image,
    replaced,
    requester,
    hold,
    why,
    slots,
    backing,
  }: PoolNodeView,
  now: number,
): readonly string[] {
  const shared =
    slots !== undefined ? `machine of ${slots} nodes` : backing === undefined ? undefined : `on ${backing}`;
  const held =
    hold === undefined
      ? undefined
      : `${hold.comment} (${hold.by}${hold.until === undefined ? '' : `, ${formatDuration(hold.until - now)} left`})`;
  const words = [held, why, shared].filter((word) => word !== undefined).join('; ');
  return [
    id,
    label,
    providerPool,
    state,
    formatDuration(now - since),
    formatDuration(now - createdAt),
    ipaddress ?? '-',
    `${image ?? '-'}${replaced === undefined ? '' : ' (old)'}`,
    requester ?? '-',
    words === '' ? '-' : words,
  ];
}
