import type { OperateIntent } from '../../client/heddle-client.js';
import type { PlanPreview } from '../../client/preview.js';
import { isEmptyPlan } from '../../model/plan/plan.js';
import type { OperationOptions } from '../configuration.js';
import { requireWorker, type Session, withSession } from '../session.js';
import { describeCluster } from './describe-cluster.js';
import { finish } from './finish.js';
import { describeCounts } from './plan/plan-text.js';
import { previewOperation, showPreview } from './plan/preview.js';

export const start = operation((services: readonly string[], _options: OperationOptions) => ({
  kind: 'start',
  services,
}));

export const stop = operation((services: readonly string[], _options: OperationOptions) => ({
  kind: 'stop',
  services,
}));

export const restart = operation((services: readonly string[], options: OperationOptions) => ({
  kind: 'restart',
  services,
  ...scopeOf(options),
}));

export const reconfigure = operation(
  (services: readonly string[], options: OperationOptions & { readonly restart?: true }) => ({
    kind: 'reconfigure',
    services,
    ...scopeOf(options),
    restart: options.restart,
  }),
);

export const replace = operation((nodes: readonly string[], options: OperationOptions) => ({
  kind: 'replace',
  ...scopeOf(options),
  nodes: [...new Set(nodes)],
}));

export const rollback = operation((_options: OperationOptions) => ({ kind: 'rollback' }));

/** Starts an operation and waits for its end, or only shows what it would do. */
function operation<Args extends unknown[]>(
  intentOf: (...wordsAndOptions: Args) => OperateIntent,
): (name: string, ...wordsAndOptions: Args) => Promise<number> {
  return async (name, ...args) => {
    const intent = intentOf(...args);
    const options = args.at(-1) as OperationOptions;
    return withSession(options, async (session) => {
      await requireCluster(session, name);
      if (options.plan === true && intent.kind === 'rollback') await session.client.look(name);
      if (options.plan === true)
        return showPreview(session.output, name, intent, await previewOperation(session, name, intent));
      const since = Date.now();
      const preview = await checkFirst(session, name, intent, options);
      if (preview !== undefined && !isEmptyPlan(preview.plan))
        session.output.line(describeCounts(preview.plan));
      const reply = await session.client.operate(name, intent, { queue: options.queue === true });
      return finish(session, name, reply, { ...options, since });
    });
  };
}

/** @throws CliError NotFound, HeddleError NoWorker */
export async function requireCluster(session: Session, name: string): Promise<void> {
  await describeCluster(session, name);
  await requireWorker(session);
}

/**
 * Plans the operation before it is requested, so that an invalid request fails at once and leaves no trace in
 * the history. A queued operation is planned later: the state of the cluster is not known yet.
 */
export async function checkFirst(
  session: Session,
  name: string,
  intent: OperateIntent,
  { queue = false }: OperationOptions,
): Promise<PlanPreview | undefined> {
  return queue ? undefined : previewOperation(session, name, intent);
}

/** Which nodes, and how many of them at a time. */
export function scopeOf({ nodes, rolling }: OperationOptions): {
  readonly nodes?: readonly string[];
  readonly width?: number;
} {
  return { nodes, width: rolling };
}
