import type { PoolNodeView } from '../../model/pool/view.js';
import { CliError } from '../cli-error.js';
import type { ServerOptions } from '../configuration.js';
import { confirm } from '../confirm.js';
import { exitCodes } from '../exit-codes.js';
import { withPool } from './look.js';

export interface HoldOptions extends ServerOptions {
  readonly comment?: string;
  /** Ms. */
  readonly for?: number;
  readonly end?: boolean;
}

export async function hold(name: string, node: string, options: HoldOptions): Promise<number> {
  const { comment = '', end = false } = options;
  if (!end && comment.trim() === '')
    throw new CliError('Usage', `say why ${node} is held: -m TEXT`, { next: 'heddle pool hold --help' });
  return withPool(name, options, async (pool, output) => {
    if (end) await pool.endHold(node);
    else await pool.hold(node, comment, options.for);
    output.line(end ? `the hold of ${node} is over` : `${node} is held`);
    output.document({ pool: name, node, held: !end });
    return exitCodes.ok;
  });
}

export interface DeleteOptions extends ServerOptions {
  readonly wait: boolean;
  readonly abandon?: boolean;
  readonly yes?: boolean;
}

/** Deletes nodes; without any, the pool and everything in it. */
export async function remove(
  name: string,
  nodes: readonly string[],
  options: DeleteOptions,
): Promise<number> {
  const { yes = false, json = false, abandon = false } = options;
  return withPool(name, options, async (pool, output) => {
    if (nodes.length > 0) {
      await pool.deleteNodes(nodes, abandon ? { abandon: true } : {});
      output.line(`${abandon ? 'forgotten' : 'being deleted'}: ${nodes.join(', ')}`);
      output.document({ pool: name, nodes });
      return exitCodes.ok;
    }
    await confirm(questionOf(name, await pool.nodes()), { yes, json });
    await pool.deletePool();
    if (options.wait) await pool.gone();
    output.line(options.wait ? `pool ${name} is deleted` : `pool ${name} is being deleted`);
    output.document({ pool: name, deleted: options.wait });
    return exitCodes.ok;
  });
}

/** Who would lose a node is part of the question. */
function questionOf(name: string, nodes: readonly PoolNodeView[]): string {
  const taken = nodes.filter(({ state }) => state === 'in-use' || state === 'hold');
  const holders = [...new Set(taken.flatMap(({ requester }) => requester ?? []))];
  const who =
    holders.length === 0
      ? ''
      : ` (${holders.slice(0, 5).join(', ')}${holders.length > 5 ? ' and others' : ''})`;
  return `Delete pool ${name} and its ${nodes.length} nodes${taken.length === 0 ? '' : `, ${taken.length} of which somebody has${who}`}?`;
}
