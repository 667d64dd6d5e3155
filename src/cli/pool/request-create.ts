import { HeddleError } from '../../client/errors.js';
import type { DemandOptions, PoolClient } from '../../client/pool/pool-client.js';
import type { RequestView } from '../../schema/output/pool.js';
import type { ServerOptions, WaitOptions } from '../configuration.js';
import { CliError, exitCodes } from '../errors.js';
import { formatDuration } from '../format.js';
import type { Output } from '../output.js';
import { untilEnd } from '../waiting.js';
import { poolVerb } from './pool-verb.js';
import { heldFor, renewOften } from './renewal.js';
import { untilReturned } from './return-requests.js';
import { countStates, printRequest, printRequests, withoutSecrets } from './request-text.js';

export interface CreateOptions extends ServerOptions, WaitOptions {
  /** The request outlives this command. */
  readonly detach?: boolean;
  /** Number of requests, each for all of the labels. */
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
  return options.count === undefined
    ? createOne(name, labels, options)
    : createMany(name, labels, options.count, options);
}

const createOne = poolVerb(
  async (pool, { output }, labels: readonly string[], options: CreateOptions) => {
    const request = await pool.request(labels, demandOf(options));
    if (!options.wait || request.state === 'fulfilled') return request;
    output.note(`request ${request.id}: waiting${options.detach === true ? '' : '; Ctrl-C returns it'}`);
    return whileHeld(pool, output, [request.id], options, () => pool.waitFor(request.id));
  },
  {
    document: (request) => withoutSecrets(request),
    print: (output, request, pool) => printRequest(output, request, pool),
  },
);

/** Requests end independently: the nodes of some are shown also when others failed. */
const createMany = poolVerb(
  async (pool, { output }, labels: readonly string[], count: number, options: CreateOptions) => {
    const requests = await pool.requestMany(count, labels, demandOf(options));
    const waiting = requests.filter(({ state }) => state !== 'fulfilled');
    if (!options.wait || waiting.length === 0) return { requests, failed: false };
    const ids = requests.map(({ id }) => id);
    const ended = await whileHeld(pool, output, ids, options, () =>
      waitForAll(pool, output, requests, waiting),
    );
    return { requests: ended, failed: ended.some(({ state }) => state !== 'fulfilled') };
  },
  {
    document: ({ requests }, pool) => ({ pool, requests: requests.map(withoutSecrets) }),
    print: (output, { requests }, pool, _labels, _count, { requester }) =>
      printRequests(output, pool, requests, requester),
    exitCode: ({ failed }) => (failed ? exitCodes.failed : exitCodes.ok),
  },
);

async function waitForAll(
  pool: PoolClient,
  output: Output,
  requests: readonly RequestView[],
  waiting: readonly RequestView[],
): Promise<readonly RequestView[]> {
  output.note(`${requests.length} requests: ${countStates(requests)}; waiting`);
  const ends = await Promise.allSettled(waiting.map(({ id }) => pool.waitFor(id)));
  // A failed request is shown later; any other error is one of the waiting.
  for (const end of ends)
    if (end.status === 'rejected' && !(end.reason instanceof HeddleError && end.reason.code === 'Failed'))
      throw end.reason;
  const now = new Map(
    (await pool.requests(requests.map(({ id }) => id))).map((request) => [request.id, request]),
  );
  return requests.map((request) => now.get(request.id) ?? request);
}

function demandOf(options: CreateOptions): DemandOptions {
  const { priority, requester, tenant, providerPool, lease } = options;
  return {
    priority,
    requester,
    tenant,
    providerPool,
    leaseMs: lease,
    heldMs: isHeld(options) ? heldFor(lease) : undefined,
  };
}

function isHeld({ wait, detach }: CreateOptions): boolean {
  return wait && detach !== true;
}

/**
 * Renews the requests while it waits. An interrupt and the time limit return them, unless they are detached.
 */
async function whileHeld<Result>(
  pool: PoolClient,
  output: Output,
  ids: readonly string[],
  options: CreateOptions,
  wait: () => Promise<Result>,
): Promise<Result> {
  const [what, be] = ids.length === 1 ? [`request ${ids[0]}`, 'is'] : [`${ids.length} requests`, 'are'];
  const stopRenewal = isHeld(options) ? renewOften(pool, ids) : undefined;
  const { timeout } = options;
  const next = `heddle request list ${pool.name}`;
  try {
    return await untilEnd({ what, next, timeout, end: wait });
  } catch (cause) {
    const isStopped = cause instanceof CliError && (cause.code === 'Interrupted' || cause.code === 'Failed');
    if (!isHeld(options) || !isStopped) throw cause;
    const isReturned = await untilReturned(output, what, pool.cancelMany(ids));
    const stopped =
      cause.code === 'Interrupted' ? 'stopped waiting' : `waited ${formatDuration(timeout ?? 0)}`;
    throw new CliError(cause.code, `${stopped}${isReturned ? `; ${what} ${be} returned` : ''}`, {
      next,
      cause,
    });
  } finally {
    stopRenewal?.();
  }
}
