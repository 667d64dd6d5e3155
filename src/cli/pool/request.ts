import { HeddleError } from '../../client/errors.js';
import type { DemandOptions, PoolClient } from '../../client/pool/pool-client.js';
import type { RequestView } from '../../model/pool/view.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../output.js';
import { formatDuration } from '../time-text.js';
import { printTable, withPool } from './look.js';
import { countStates, nodeName, printRequest, printRequests, whyOf, withoutSecrets } from './request-text.js';

export interface CreateOptions extends ServerOptions {
  readonly wait: boolean;
  /** So many requests, each for all of the labels. */
  readonly count?: number;
  readonly priority?: number;
  readonly requester?: string;
  readonly tenant?: string;
  readonly providerPool?: string;
  /** Ms. */
  readonly lease?: number;
}

export async function create(
  name: string,
  labels: readonly string[],
  options: CreateOptions,
): Promise<number> {
  const { count, priority, requester, tenant, providerPool, lease } = options;
  const demand: DemandOptions = { priority, requester, tenant, providerPool, leaseMs: lease };
  return withPool(name, options, async (pool, output) => {
    if (count !== undefined)
      return createMany(pool, output, await pool.requestMany(count, labels, demand), options);
    const asked = await pool.request(labels, demand);
    if (options.wait && asked.state !== 'fulfilled') output.note(`request ${asked.id}: waiting`);
    const request = options.wait && asked.state !== 'fulfilled' ? await pool.waitFor(asked.id) : asked;
    printRequest(output, name, request);
    output.document(withoutSecrets(request));
    return exitCodes.ok;
  });
}

/** Each has an end of its own: what some of them got is told also where others failed. */
async function createMany(
  pool: PoolClient,
  output: Output,
  asked: readonly RequestView[],
  { wait, requester }: CreateOptions,
): Promise<number> {
  const waiting = asked.filter(({ state }) => state !== 'fulfilled');
  if (wait && waiting.length > 0) {
    output.note(`${asked.length} requests: ${countStates(asked)}; waiting`);
    const ends = await Promise.allSettled(waiting.map(({ id }) => pool.waitFor(id)));
    // A request that failed is told below; anything else is an error of the waiting.
    for (const end of ends)
      if (end.status === 'rejected' && !(end.reason instanceof HeddleError && end.reason.code === 'Failed'))
        throw end.reason;
  }
  const requests = wait && waiting.length > 0 ? await inOrderOf(asked, pool) : asked;
  printRequests(output, pool.name, requests, requester);
  output.document({ pool: pool.name, requests: requests.map(withoutSecrets) });
  return wait && requests.some(({ state }) => state !== 'fulfilled') ? exitCodes.failed : exitCodes.ok;
}

async function inOrderOf(asked: readonly RequestView[], pool: PoolClient): Promise<readonly RequestView[]> {
  const now = new Map(
    (await pool.requests(asked.map(({ id }) => id))).map((request) => [request.id, request]),
  );
  return asked.map((request) => now.get(request.id) ?? request);
}

export async function list(name: string, options: ServerOptions): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    const requests = (await pool.requests()).map(withoutSecrets);
    output.document({ pool: name, requests });
    const now = Date.now();
    if (requests.length === 0) output.line('no requests');
    else
      printTable(
        output,
        ['REQUEST', 'STATE', 'FOR', 'AGE', 'LABELS', 'PRIORITY', 'REQUESTER', 'NODES', 'WHY'],
        requests.map((request) => [
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
    return exitCodes.ok;
  });
}

export async function show(
  name: string,
  id: string,
  options: ServerOptions & { readonly credentials?: boolean },
): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    const [request] = await pool.requests([id]);
    if (request === undefined)
      throw new HeddleError(
        'NotFound',
        `pool ${name} has no request ${id}; 'heddle request list ${name}' shows those it has`,
        { next: `heddle request list ${name}` },
      );
    printRequest(output, name, request);
    output.document(options.credentials === true ? request : withoutSecrets(request));
    return exitCodes.ok;
  });
}
