import type { ApplyReply } from '../../model/cluster/messages.js';
import { CliError } from '../cli-error.js';
import { confirm } from '../confirm.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { finish, leaveIt } from '../finish.js';
import { followOperation } from './follow-operation.js';
import { requireCluster } from './operate.js';
import { createOutput, type Output } from '../output.js';
import { reportCancelled } from './report-operation.js';
import { withSession, type Session } from '../session.js';

export type ControlOptions = ServerOptions & { readonly wait: boolean };

/** Goes on with a held operation from what failed. */
export async function retry(name: string, options: ControlOptions): Promise<number> {
  return ask(name, options, async (session, output) => {
    const since = Date.now();
    return finish(session, output, name, await session.client.retry(name), { ...options, since });
  });
}

/** Goes on with a paused operation. */
export async function resume(name: string, options: ControlOptions): Promise<number> {
  return ask(name, options, async (session, output) => {
    const since = Date.now();
    return finish(session, output, name, await session.client.resume(name), { ...options, since });
  });
}

/** What runs goes on to its end, so there is nothing to wait for. */
export async function pause(name: string, options: ServerOptions): Promise<number> {
  return ask(name, options, async ({ client }, output) => {
    const { operation, clusterUid } = await client.pause(name);
    output.line(
      `${name}: operation ${operation} is paused; what runs goes on to its end, and nothing new is started`,
    );
    output.line(`next: heddle resume ${name}`);
    output.document({ cluster: name, clusterUid, operation: { id: operation }, paused: true });
    return exitCodes.ok;
  });
}

/** Ends an operation. An end that came before is told, too. */
export async function cancel(
  name: string,
  operation: string | undefined,
  options: ControlOptions,
): Promise<number> {
  return ask(name, options, async (session, output) => {
    const since = Date.now();
    const reply: ApplyReply = await session.client.cancel(name, operation);
    if (!options.wait) return leaveIt(output, name, reply);
    return reportCancelled(
      output,
      await followOperation(session, output, { name, operation: reply.operation, since }),
    );
  });
}

/** Gives up a machine that cannot be deleted, and goes on without its node. */
export async function abandon(
  name: string,
  node: string,
  options: ControlOptions & { readonly yes?: boolean },
): Promise<number> {
  return ask(name, options, async (session, output) => {
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
    return finish(session, output, name, await session.client.abandon(name, node), { ...options, since });
  });
}

async function ask(
  name: string,
  options: ServerOptions,
  use: (session: Session, output: Output) => Promise<number>,
): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireCluster(session, name);
    return use(session, output);
  });
}
