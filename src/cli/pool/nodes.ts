import { poolNodeStates } from '../../model/pool/node.js';
import type { PoolNodeView } from '../../model/pool/view.js';
import { CliError } from '../errors.js';
import type { ServerOptions } from '../configuration.js';
import { confirm } from '../terminal.js';
import { formatCount, formatDuration } from '../format.js';
import { failuresOf } from './failures.js';
import { poolVerb } from './pool-verb.js';

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

export const nodes = poolVerb(
  async (pool, session, _options: ServerOptions) => {
    const found = await pool.nodes();
    const failures = await failuresOf(session, pool);
    return found.map((node) => ({ ...node, why: failures.get(node.id) ?? node.why }));
  },
  {
    document: (found, pool) => ({ pool, nodes: found }),
    print: (output, found) => {
      if (found.length === 0) return output.line('no nodes');
      // Versions of images are shown where there are any.
      const hasVersions = found.some(({ image }) => image !== undefined);
      const isShown = (_cell: string, index: number): boolean => hasVersions || columns[index] !== 'IMAGE';
      const ordered = found.toSorted(
        (one, other) =>
          poolNodeStates.indexOf(one.state) - poolNodeStates.indexOf(other.state) || one.since - other.since,
      );
      const now = Date.now();
      output.table(
        columns.filter(isShown),
        ordered.map((node) => rowOf(node, now).filter(isShown)),
      );
    },
  },
);

function rowOf(node: PoolNodeView, now: number): readonly string[] {
  const { id, label, providerPool, state, since, createdAt, ipaddress, image, replaced, requester } = node;
  const { hold: held, why, slots, backing } = node;
  const left = held?.until === undefined ? '' : `, ${formatDuration(held.until - now)} left`;
  const words = [
    held && `${held.comment} (${held.by}${left})`,
    why,
    slots === undefined ? backing && `on ${backing}` : `machine of ${slots} nodes`,
  ];
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
    words.filter((word) => word !== undefined).join('; ') || '-',
  ];
}

export interface HoldOptions extends ServerOptions {
  readonly comment?: string;
  /** Ms. */
  readonly for?: number;
  readonly end?: boolean;
}

const holdNode = poolVerb(
  async (pool, _session, node: string, { comment = '', end = false, for: forMs }: HoldOptions) => {
    if (end) await pool.endHold(node);
    else await pool.hold(node, comment, forMs);
    return { pool: pool.name, node, held: !end };
  },
  {
    print: (output, { node, held }) => output.line(held ? `${node} is held` : `the hold of ${node} is over`),
  },
);

export async function hold(name: string, node: string, options: HoldOptions): Promise<number> {
  if (options.end !== true && (options.comment ?? '').trim() === '')
    throw new CliError('Usage', `say why ${node} is held: -m TEXT`, { next: 'heddle pool hold --help' });
  return holdNode(name, node, options);
}

export interface DeleteOptions extends ServerOptions {
  readonly wait: boolean;
  readonly abandon?: boolean;
  readonly yes?: boolean;
}

/** Deletes nodes; without any, the pool and everything in it. */
export async function remove(name: string, ids: readonly string[], options: DeleteOptions): Promise<number> {
  return ids.length > 0 ? deleteNodes(name, ids, options) : deletePool(name, options);
}

const deleteNodes = poolVerb(
  async (pool, _session, ids: readonly string[], options: DeleteOptions) => {
    const { abandon = false } = options;
    const named = (await pool.nodes()).filter(({ id }) => ids.includes(id));
    // Nodes that are not in use hold nothing of anyone.
    if (named.some(isTaken)) {
      const question = `Delete ${formatCount(named.length, 'node')} of pool ${pool.name}${usersOf(named)}?`;
      await confirm(question, options);
    }
    await pool.deleteNodes(ids, abandon ? { abandon: true } : {});
    return { pool: pool.name, nodes: ids };
  },
  {
    print: (output, { nodes: ids }, _name, _ids, { abandon = false }) =>
      output.line(`${abandon ? 'forgotten' : 'being deleted'}: ${ids.join(', ')}`),
  },
);

const deletePool = poolVerb(
  async (pool, _session, options: DeleteOptions) => {
    const all = await pool.nodes();
    const question = `Delete pool ${pool.name} and its ${formatCount(all.length, 'node')}${usersOf(all)}?`;
    await confirm(question, options);
    await pool.deletePool();
    if (options.wait) await pool.gone();
    return { pool: pool.name, deleted: options.wait };
  },
  { print: (output, { pool, deleted }) => output.line(`pool ${pool} is ${deleted ? '' : 'being '}deleted`) },
);

/** The users who would lose nodes. */
function usersOf(found: readonly PoolNodeView[]): string {
  const taken = found.filter(isTaken);
  if (taken.length === 0) return '';
  const holders = [...new Set(taken.flatMap(({ requester }) => requester ?? []))];
  const some = `${holders.slice(0, 5).join(', ')}${holders.length > 5 ? ' and others' : ''}`;
  return `, ${taken.length} of which in use${holders.length === 0 ? '' : ` (${some})`}`;
}

function isTaken({ state }: PoolNodeView): boolean {
  return state === 'in-use' || state === 'hold';
}
