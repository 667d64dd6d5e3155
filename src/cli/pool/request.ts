import { HeddleError } from '../../client/errors.js';
import type { PoolClient } from '../../client/pool/pool-client.js';
import { CliError } from '../errors.js';
import type { ServerOptions } from '../configuration.js';
import type { RequestView } from '../../schema/output/pool.js';
import type { Session } from '../session.js';
import { failuresOf } from './task-failures.js';
import { poolVerb } from './pool-verb.js';
import { printRequest, withoutSecrets } from './request-text.js';

export const show = poolVerb(
  async (pool, session, id: string, _options: ServerOptions & { readonly credentials?: boolean }) => {
    const [request] = await pool.requests([id]);
    if (request !== undefined) return explain(pool, session, request);
    const next = `heddle request list ${pool.name}`;
    throw new HeddleError(
      'NotFound',
      `pool ${pool.name} has no request ${id}; run '${next}' to see its requests`,
      { next },
    );
  },
  {
    document: (request, _name, _id, { credentials = false }) =>
      credentials ? request : withoutSecrets(request),
    print: (output, request, pool) => printRequest(output, request, pool),
  },
);

async function explain(pool: PoolClient, session: Session, request: RequestView): Promise<RequestView> {
  const { making = [] } = request;
  if (making.length === 0) return request;
  const failures = await failuresOf(session, pool);
  const failing = making.find((node) => failures.has(node));
  if (failing === undefined) return request;
  const node = (await pool.nodes()).find(({ id }) => id === failing);
  const { providerPool = request.providerPool ?? '' } = node ?? {};
  return { ...request, lastFailure: `${providerPool}: ${failures.get(failing)}` };
}

export interface WhichOptions extends ServerOptions {
  /** All open requests of this one, in place of ids. */
  readonly requester?: string;
}

export const renew = poolVerb(
  async (pool, _session, given: readonly string[], options: WhichOptions) => {
    const ids = await chooseRequests(pool, given, options);
    const renewed = await Promise.all(ids.map((id) => pool.renew(id)));
    const refused = ids.filter((_id, index) => renewed[index] === false);
    if (refused.length > 0)
      throw new HeddleError(
        'Refused',
        `${refused.map((id) => `request ${id}`).join(', ')} ${refused.length === 1 ? 'has' : 'have'} no nodes whose lease could be renewed${refused.length < ids.length ? '; the others were renewed' : ''}`,
      );
    return { pool: pool.name, ids, renewed: true };
  },
  {
    print: (output, { ids }) =>
      output.line(
        ids.length === 1
          ? `the lease of ${ids[0]} is renewed`
          : `the leases of ${ids.length} requests are renewed`,
      ),
  },
);

export const setPriority = poolVerb(
  async (pool, _session, id: string, priority: number, _options: ServerOptions) => {
    await chooseRequests(pool, [id], {});
    await pool.setPriority(id, priority);
    return { pool: pool.name, ids: [id], priority };
  },
  { print: (output, { priority }, _pool, id) => output.line(`request ${id} has priority ${priority}`) },
);

export const cancel = poolVerb(
  async (pool, _session, given: readonly string[], options: WhichOptions) => {
    const ids = await chooseRequests(pool, given, options);
    await pool.cancelMany(ids);
    return { pool: pool.name, ids, ended: 'cancel' };
  },
  {
    print: (output, { ids }) =>
      output.line(
        ids.length === 1 ? `request ${ids[0]} is cancelled` : `${ids.length} requests are cancelled`,
      ),
  },
);

export const returnNodes = poolVerb(
  async (pool, _session, given: readonly string[], options: WhichOptions) => {
    const ids = await chooseRequests(pool, given, options);
    await Promise.all(ids.map((id) => pool.return(id)));
    return { pool: pool.name, ids, ended: 'return' };
  },
  {
    print: (output, { ids }) =>
      output.line(`the nodes of ${ids.length === 1 ? ids[0] : `${ids.length} requests`} are returned`),
  },
);

/** The ids of the requests that were named. @throws CliError when one of them does not exist. */
export async function chooseRequests(
  pool: PoolClient,
  ids: readonly string[],
  { requester }: WhichOptions,
): Promise<readonly string[]> {
  if (ids.length > 0 === (requester !== undefined))
    throw new CliError('Usage', 'give either ids of requests or --requester NAME');
  const next = { next: `heddle request list ${pool.name}` };
  if (requester !== undefined) {
    const open = (await pool.requests()).filter(
      (request) => request.requester === requester && request.createdAt !== undefined,
    );
    if (open.length === 0)
      throw new CliError('NotFound', `pool ${pool.name} has no open request of ${requester}`, next);
    return open.map(({ id }) => id);
  }
  const wanted = [...new Set(ids)];
  const known = new Set((await pool.requests(wanted)).map(({ id }) => id));
  const unknown = wanted.filter((id) => !known.has(id));
  if (unknown.length > 0)
    throw new CliError('NotFound', `pool ${pool.name} has no request ${unknown.join(', ')}`, next);
  return wanted;
}
