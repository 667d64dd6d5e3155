import { isTaken } from '../../model/pool/node.js';
import type { PoolNodeView } from '../../schema/output/pool.js';
import { CliError } from '../errors.js';
import type { ServerOptions, WaitOptions } from '../configuration.js';
import { confirm } from '../terminal.js';
import { formatCount } from '../format.js';
import { untilEnd } from '../waiting.js';
import { poolVerb } from './pool-verb.js';

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
    print: (output, { node, held }) =>
      output.line(held ? `${node} is held` : `the hold of ${node} has ended`),
  },
);

export async function hold(name: string, node: string, options: HoldOptions): Promise<number> {
  if (options.end !== true && (options.comment ?? '').trim() === '')
    throw new CliError('Usage', `give the reason for the hold of ${node} with -m TEXT`, {
      next: 'heddle pool hold --help',
    });
  return holdNode(name, node, options);
}

export interface DeleteOptions extends ServerOptions, WaitOptions {
  readonly abandon?: boolean;
  readonly yes?: boolean;
}

/** Deletes nodes; without any, the pool and everything in it. */
export async function remove(name: string, ids: readonly string[], options: DeleteOptions): Promise<number> {
  if (ids.length > 0) return deleteNodes(name, ids, options);
  if (options.abandon === true)
    throw new CliError('Usage', '--abandon requires the names of the nodes to forget', {
      next: `heddle pool nodes ${name}`,
    });
  return deletePool(name, options);
}

const deleteNodes = poolVerb(
  async (pool, _session, ids: readonly string[], options: DeleteOptions) => {
    const { abandon = false } = options;
    const named = (await pool.nodes()).filter(({ id }) => ids.includes(id));
    // Nodes that are not in use have no data of a user.
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
    const nodes = formatCount(all.length, 'node');
    await confirm(`Delete pool ${pool.name} and its ${nodes}${usersOf(all)}?`, options);
    await pool.deletePool();
    const { wait, timeout } = options;
    if (wait)
      await untilEnd({
        what: `the deletion of pool ${pool.name}`,
        next: `heddle pool nodes ${pool.name}`,
        timeout,
        end: () => pool.gone(),
      });
    return { pool: pool.name, deleted: wait };
  },
  { print: (output, { pool, deleted }) => output.line(`pool ${pool} is ${deleted ? '' : 'being '}deleted`) },
);

/** The users who would lose nodes. */
export function usersOf(found: readonly PoolNodeView[]): string {
  const taken = found.filter(isTaken);
  return taken.length === 0 ? '' : `, ${taken.length} of which in use${namesOfUsers(taken)}`;
}

export function namesOfUsers(taken: readonly PoolNodeView[]): string {
  const names = [...new Set(taken.flatMap(({ requester }) => requester ?? []))];
  const some = `${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and others' : ''}`;
  return names.length === 0 ? '' : ` (${some})`;
}
