import { isUndeletable } from '../../model/node/abandon.js';
import type { HeddleClient } from '../../client/heddle-client.js';
import type { ApplyReply } from '../../model/cluster/contract.js';
import type { EndedDocument } from '../../schema/output/operation.js';
import type { ServerOptions, WaitOptions } from '../configuration.js';
import { CliError, exitCodes } from '../errors.js';
import type { Output } from '../output.js';
import { confirm } from '../terminal.js';
import type { Shown } from '../verb.js';
import { clusterVerb } from './cluster-verb.js';
import { printFailures } from './failure-text.js';
import { type Ended, finish, type Outcome, outcomeShown, type Waiting } from './outcome.js';

interface ControlOptions extends ServerOptions, Pick<Waiting, keyof WaitOptions | 'acceptMinimum'> {}

export const retry = control((client, name) => client.retry(name));

export const resume = control((client, name) => client.resume(name));

/** Sends a request to an operation and waits for the operation's end. */
function control(
  send: (client: HeddleClient, name: string) => Promise<ApplyReply>,
): (name: string, options: ControlOptions) => Promise<number> {
  return clusterVerb<[options: ControlOptions], Outcome>(async (session, name, options) => {
    const since = Date.now();
    return finish(session, name, await send(session.client, name), { ...options, since });
  }, outcomeShown);
}

/** Running tasks continue to their end, so there is nothing to wait for. */
export const pause = clusterVerb(
  async ({ client }, name, _options: ServerOptions) => {
    const { operation, clusterUid } = await client.pause(name);
    return { cluster: name, clusterUid, operation: { id: operation }, paused: true };
  },
  {
    print: (output, { cluster, operation }) => {
      output.line(
        `${cluster}: operation ${operation.id} is paused; running tasks continue, and no new task starts`,
      );
      output.line(`next: heddle resume ${cluster}`);
    },
  },
);

export const cancelShown = {
  document: (outcome) => ('end' in outcome ? describeCancelled(outcome) : outcomeShown.document(outcome)),
  print: (output, outcome) =>
    'end' in outcome ? printCancelled(output, outcome) : outcomeShown.print(output, outcome),
  exitCode: (outcome) => {
    if (!('end' in outcome)) return exitCodes.ok;
    if (outcome.end.operation.state !== 'cancelled') return exitCodes.refused;
    return leftMachines(outcome) ? exitCodes.failed : exitCodes.ok;
  },
} satisfies Shown<[], Outcome>;

/** Ends an operation; reports also an operation that ended before it could be cancelled. */
export const cancel = clusterVerb<[operation: string | undefined, options: ControlOptions], Outcome>(
  async (session, name, operation, options) => {
    const since = Date.now();
    return finish(session, name, await session.client.cancel(name, operation), { ...options, since });
  },
  cancelShown,
);

function describeCancelled({ end: { operation, status } }: Ended): EndedDocument {
  return { cluster: status.name, clusterUid: status.uid, operation };
}

function printCancelled(output: Output, outcome: Ended): void {
  const { operation, status } = outcome.end;
  const { id, state, what, startedAt } = operation;
  const result =
    state === 'cancelled'
      ? `is cancelled${startedAt === undefined ? ' before it started' : '; completed work stays'}`
      : `ended before it could be cancelled: ${state}`;
  output.line(`${status.name}: operation ${id} (${what}) ${result}`);
  if (!leftMachines(outcome)) return;
  printFailures(output, status, Date.now());
  output.line();
  output.line('next: heddle apply FILE');
}

/** Whether machines are left that could not be deleted. */
function leftMachines({ end: { operation, status } }: Ended): boolean {
  const { state, startedAt } = operation;
  const isEnded = state === 'cancelled' && startedAt !== undefined;
  return isEnded && status.nodes.some(({ failure }) => failure?.action === 'DELETE');
}

type AbandonOptions = ControlOptions & { readonly yes?: boolean };

/** Abandons a machine that cannot be deleted, and continues without its node. */
export const abandon = clusterVerb<[node: string, options: AbandonOptions], Outcome>(
  async (session, name, node, options) => {
    const { client } = session;
    const { nodes, operation } = await client.status(name);
    const found = nodes.find(({ nodeId }) => nodeId === node);
    if (found === undefined)
      throw new CliError('NotFound', `cluster ${name} has no node ${node}`, { next: `heddle nodes ${name}` });
    if (operation === undefined || !isUndeletable(found))
      throw new CliError(
        'Refused',
        `${node} of cluster ${name} can be abandoned only if the deletion of its machine fails or does not end`,
        { next: `heddle status ${name}` },
      );
    const machine =
      found.providerid === undefined
        ? 'its machine, if it exists,'
        : `machine ${found.providerid} of ${found.provider ?? 'its provider'}`;
    await confirm(
      `Forget ${node} of ${name}? ${machine} stays and may cost money; you must then delete it yourself.`,
      options,
    );
    const since = Date.now();
    return finish(session, name, await client.abandon(name, node), { wait: options.wait, since });
  },
  outcomeShown,
);
