import { HeddleError } from '../../client/errors.js';
import type { DemandOptions, PoolClient } from '../../client/pool/pool-client.js';
import type { RequestView } from '../../model/pool/view.js';
import type { ServerOptions } from '../configuration.js';
import { CliError, exitCodes } from '../errors.js';
import { catchInterrupt } from '../interrupts.js';
import type { Output } from '../output.js';
import { poolVerb } from './pool-verb.js';
import { heldFor, renewOften } from './renewal.js';
import { untilReturned } from './return-requests.js';
import { countStates, printRequest, printRequests, withoutSecrets } from './request-text.js';

export interface CreateOptions extends ServerOptions {
  readonly wait: boolean;
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
    return whileHeld(pool, output, [request.id], options, () => {
      output.note(`request ${request.id}: waiting${options.detach === true ? '' : '; Ctrl-C returns it'}`);
      return pool.waitFor(request.id);
    });
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

/** Renews the requests while it waits. An interrupt returns them, unless they are detached. */
async function whileHeld<Result>(
  pool: PoolClient,
  output: Output,
  ids: readonly string[],
  options: CreateOptions,
  wait: () => Promise<Result>,
): Promise<Result> {
  if (!isHeld(options)) return wait();
  const { signal, race, release } = catchInterrupt();
  const stopRenewal = renewOften(pool, ids);
  try {
    return await race(wait());
  } catch (cause) {
    if (!signal.aborted) throw cause;
    const [what, be] = ids.length === 1 ? [`request ${ids[0]}`, 'is'] : [`${ids.length} requests`, 'are'];
    const isReturned = await untilReturned(output, what, pool.cancelMany(ids));
    throw new CliError('Interrupted', `stopped waiting${isReturned ? `; ${what} ${be} returned` : ''}`, {
      next: `heddle request list ${pool.name}`,
      cause,
    });
  } finally {
    stopRenewal();
    release();
  }
}
