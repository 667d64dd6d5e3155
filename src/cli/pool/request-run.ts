import { anySignal } from '../../model/signals.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { catchInterrupt } from '../interrupts.js';
import { poolVerb } from './pool-verb.js';
import { renewOften } from './renewal.js';
import { chooseRequests } from './request.js';
import { highestCode, readCommand, runOnNodes } from './run-on-nodes.js';
import { serverTime } from '../../client/server-clock.js';

interface RequestRunOptions extends ServerOptions {
  readonly id?: string;
  readonly requester?: string;
  /** A file or a folder. */
  readonly copy?: string;
}

/** Runs a command on the nodes of a request, whose lease is renewed meanwhile; it keeps them. */
export const runInRequest = poolVerb(
  async (pool, session, words: readonly string[], options: RequestRunOptions) => {
    const { id: given, copy } = options;
    const command = await readCommand(words, options);
    const ids = await chooseRequests(pool, given === undefined ? [] : [given], options);
    const next = `heddle request list ${pool.name}`;
    const found = await pool.requests(ids);
    const [chosen, ...others] = found.filter(({ state }) => state === 'fulfilled');
    if (others.length > 0)
      throw new CliError('Refused', `${others.length + 1} requests have nodes: choose one with --id`, {
        next,
      });
    const states = found.map(({ id, state }) => `request ${id} is ${state}`);
    if (chosen === undefined)
      throw new CliError('Refused', `no nodes: ${states.join(', ') || `request ${ids.join()} is unknown`}`, {
        next,
      });
    const { id } = chosen;
    // The lease may be about to expire.
    const [request] = (await pool.renew(id)) ? await pool.requests([id]) : [];
    if (request === undefined) throw new CliError('Refused', `request ${id} has ended`, { next });
    const { signal: interrupted, release } = catchInterrupt();
    const expired = new AbortController();
    const {
      connection,
      options: { namespace },
    } = session.temporal;
    const leaseMs =
      request.expiresAt === undefined
        ? undefined
        : Math.max(1_000, request.expiresAt - (await serverTime(connection, namespace)));
    const stopRenewal = renewOften(pool, [id], {
      leaseMs,
      onEnded: () => expired.abort(new Error(`request ${id} ended, so its nodes were released`)),
    });
    try {
      const signal = anySignal([interrupted, expired.signal]);
      const results = await runOnNodes(session, pool, request, command, { copy, signal });
      if (interrupted.aborted)
        throw new CliError('Interrupted', `interrupted; request ${id} keeps its nodes`, {
          next: `heddle request return ${pool.name} ${id}`,
        });
      return { pool: pool.name, request: id, results };
    } finally {
      stopRenewal();
      release();
    }
  },
  { exitCode: ({ results }) => highestCode(results) },
);
