import type { OperateIntent } from '../../client/heddle-client.js';
import type { PlanPreview } from '../../client/preview.js';
import { isEmptyPlan } from '../../model/plan/plan.js';
import { describeCluster } from '../cluster.js';
import { finish } from '../finish.js';
import type { OperationOptions } from '../options.js';
import { createOutput } from '../output.js';
import { describeCounts } from '../plan/words.js';
import { lookFirst, previewOperation, showPreview } from '../plan/preview.js';
import { requireWorker, withSession, type Session } from '../session.js';

export async function restart(
  name: string,
  services: readonly string[],
  options: OperationOptions,
): Promise<number> {
  return operate(name, { kind: 'restart', services, ...scopeOf(options) }, options);
}

export async function reconfigure(
  name: string,
  services: readonly string[],
  options: OperationOptions & { readonly restart?: boolean },
): Promise<number> {
  return operate(
    name,
    {
      kind: 'reconfigure',
      services,
      ...scopeOf(options),
      ...(options.restart === true ? { restart: true } : {}),
    },
    options,
  );
}

export async function replace(
  name: string,
  nodes: readonly string[],
  options: OperationOptions,
): Promise<number> {
  return operate(name, { kind: 'replace', ...scopeOf(options), nodes: [...new Set(nodes)] }, options);
}

/** Asks for an operation and waits for its end, or only shows what it would do. */
export async function operate(
  name: string,
  intent: OperateIntent,
  options: OperationOptions,
): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireCluster(session, name);
    if (options.plan === true && intent.kind === 'rollback') await lookFirst(session, name);
    if (options.plan === true)
      return showPreview(output, name, intent, await previewOperation(session, name, intent));
    const since = Date.now();
    const preview = await checkFirst(session, name, intent, options);
    if (preview !== undefined && !isEmptyPlan(preview.plan)) output.line(describeCounts(preview.plan));
    const reply = await session.client.operate(name, intent, { queue: options.queue === true });
    return finish(session, output, name, reply, { ...options, since });
  });
}

/** @throws CliError NotFound, HeddleError NoWorker */
export async function requireCluster(session: Session, name: string): Promise<void> {
  await describeCluster(session, name);
  await requireWorker(session);
}

/**
 * Has it planned once before it is asked for: what cannot be planned is told at once, and is no entry in the
 * history. What waits for others is planned when its turn comes: nobody knows yet what the cluster will be
 * then.
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
