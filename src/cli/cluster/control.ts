import type { HeddleClient } from '../../client/heddle-client.js';
import type { ApplyReply } from '../../model/cluster/messages.js';
import type { ServerOptions } from '../configuration.js';
import { confirm } from '../terminal.js';
import { CliError } from '../errors.js';
import { withSession } from '../session.js';
import { verb } from '../verb.js';
import { finish, leaveIt } from './finish.js';
import { requireCluster } from './operate.js';
import { followOperation } from './progress/follow-operation.js';
import { reportCancelled } from './report-operation.js';

interface ControlOptions extends ServerOptions {
  readonly wait: boolean;
}

export const retry = control((client, name) => client.retry(name));

export const resume = control((client, name) => client.resume(name));

/** A request to an operation, whose end is waited for. */
function control(
  send: (client: HeddleClient, name: string) => Promise<ApplyReply>,
): (name: string, options: ControlOptions) => Promise<number> {
  return (name, options) =>
    withSession(options, async (session) => {
      await requireCluster(session, name);
      const since = Date.now();
      return finish(session, name, await send(session.client, name), { ...options, since });
    });
}

/** Running tasks continue to their end, so there is nothing to wait for. */
export const pause = verb(
  async (session, name: string, _options: ServerOptions) => {
    await requireCluster(session, name);
    const { operation, clusterUid } = await session.client.pause(name);
    return { cluster: name, clusterUid, operation: { id: operation }, paused: true };
  },
  {
    print: (output, { cluster, operation }) => {
      output.line(
        `${cluster}: operation ${operation.id} is paused; what runs goes on to its end, and nothing new is started`,
      );
      output.line(`next: heddle resume ${cluster}`);
    },
  },
);

/** Ends an operation; reports also an operation that ended before it could be cancelled. */
export async function cancel(
  name: string,
  operation: string | undefined,
  options: ControlOptions,
): Promise<number> {
  return withSession(options, async (session) => {
    await requireCluster(session, name);
    const since = Date.now();
    const reply = await session.client.cancel(name, operation);
    if (!options.wait) return leaveIt(session.output, name, reply);
    const end = await followOperation(session, { name, operation: reply.operation, since });
    return reportCancelled(session.output, end);
  });
}

/** Gives up a machine that cannot be deleted, and continues without its node. */
export async function abandon(
  name: string,
  node: string,
  options: ControlOptions & { readonly yes?: boolean },
): Promise<number> {
  return withSession(options, async (session) => {
    await requireCluster(session, name);
    const { nodes, operation } = await session.client.status(name);
    if (operation?.state !== 'held')
      throw new CliError(
        'Refused',
        `cluster ${name} holds no operation; a node is abandoned only when its machine cannot be deleted`,
        { next: `heddle status ${name}` },
      );
    const found = nodes.find(({ nodeId }) => nodeId === node);
    if (found === undefined)
      throw new CliError('NotFound', `cluster ${name} has no node ${node}`, { next: `heddle nodes ${name}` });
    const machine =
      found.providerid === undefined
        ? 'a machine, if there is one,'
        : `machine ${found.providerid} of ${found.provider ?? 'its provider'}`;
    await confirm(
      `Forget ${node} of ${name}? ${machine} stays and may cost money; only you can delete it then.`,
      options,
    );
    const since = Date.now();
    return finish(session, name, await session.client.abandon(name, node), { ...options, since });
  });
}
