import { HeddleError } from '../../client/errors.js';
import type { PoolClient } from '../../client/pool/pool-client.js';
import { CliError } from '../cli-error.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { withPool } from './look.js';

export interface WhichOptions extends ServerOptions {
  /** All open requests of this one, in place of ids. */
  readonly requester?: string;
}

export async function renew(name: string, ids: readonly string[], options: WhichOptions): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    const chosen = await chooseRequests(pool, name, ids, options);
    const renewed = await Promise.all(chosen.map((id) => pool.renew(id)));
    const refused = chosen.filter((_id, index) => renewed[index] === false);
    if (refused.length > 0)
      throw new HeddleError(
        'Refused',
        `${refused.map((id) => `request ${id}`).join(', ')} ${refused.length === 1 ? 'has' : 'have'} no nodes whose lease could be renewed${refused.length < chosen.length ? '; the others were renewed' : ''}`,
      );
    output.line(
      chosen.length === 1
        ? `the lease of ${chosen[0] ?? ''} begins anew`
        : `the leases of ${chosen.length} requests begin anew`,
    );
    output.document({ pool: name, ids: chosen, renewed: true });
    return exitCodes.ok;
  });
}

export async function end(
  name: string,
  ids: readonly string[],
  how: 'cancel' | 'return',
  options: WhichOptions,
): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    const chosen = await chooseRequests(pool, name, ids, options);
    await (how === 'cancel' ? pool.cancelMany(chosen) : Promise.all(chosen.map((id) => pool.giveBack(id))));
    const what = chosen.length === 1 ? (chosen[0] ?? '') : `${chosen.length} requests`;
    if (how === 'return') output.line(`the nodes of ${what} are given back`);
    else output.line(chosen.length === 1 ? `request ${what} is cancelled` : `${what} are cancelled`);
    output.document({ pool: name, ids: chosen, ended: how });
    return exitCodes.ok;
  });
}

/** Either all of them are there, or nothing is done. */
async function chooseRequests(
  pool: PoolClient,
  name: string,
  ids: readonly string[],
  { requester }: WhichOptions,
): Promise<readonly string[]> {
  if (ids.length > 0 === (requester !== undefined))
    throw new CliError('Usage', 'give either ids of requests or --requester NAME');
  const next = { next: `heddle request list ${name}` };
  if (requester !== undefined) {
    const open = (await pool.requests()).filter(
      (request) => request.requester === requester && request.createdAt !== undefined,
    );
    if (open.length === 0)
      throw new CliError('NotFound', `pool ${name} has no open request of ${requester}`, next);
    return open.map(({ id }) => id);
  }
  const wanted = [...new Set(ids)];
  const known = new Set((await pool.requests(wanted)).map(({ id }) => id));
  const unknown = wanted.filter((id) => !known.has(id));
  if (unknown.length > 0)
    throw new CliError('NotFound', `pool ${name} has no request ${unknown.join(', ')}`, next);
  return wanted;
}
