import type { OperateIntent } from '../../client/heddle-client.js';
import { isEmptyPlan } from '../../model/plan/plan.js';
import type { OperationOptions } from '../configuration.js';
import type { Session } from '../session.js';
import { clusterVerb } from './cluster-verb.js';
import { finish, type Outcome, outcomeShown, type Waiting } from './outcome.js';
import { describeCounts } from './plan/plan-text.js';
import { previewOperation, withWarnings } from './plan/preview.js';

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

export const rollback = operation((_options: OperationOptions & { readonly acceptMinimum?: boolean }) => ({
  kind: 'rollback',
}));

/** Starts an operation and waits for its end, or only shows what it would do. */
function operation<Args extends unknown[]>(
  intentOf: (...wordsAndOptions: Args) => OperateIntent,
): (name: string, ...wordsAndOptions: Args) => Promise<number> {
  return (name, ...args) => run(name, intentOf(...args), args.at(-1) as OperationOptions);
}

const run = clusterVerb<[intent: OperateIntent, options: OperationOptions], Outcome>(operate, outcomeShown);

/**
 * The operation is planned before it is requested, so that an invalid request fails at once and leaves no
 * trace in the history. A queued operation is planned later: the state of the cluster is not known yet.
 */
export async function operate(
  session: Session,
  name: string,
  intent: OperateIntent,
  options: OperationOptions & Pick<Waiting, 'acceptMinimum'>,
): Promise<Outcome> {
  const { plan = false, queue = false } = options;
  const { client, output } = session;
  if (plan) {
    const unprobed = intent.kind === 'rollback' ? await client.probe(name) : [];
    return { name, intent, preview: withWarnings(await previewOperation(session, name, intent), unprobed) };
  }
  const since = Date.now();
  const isExec = intent.kind === 'exec';
  const preview = queue ? undefined : await previewOperation(session, name, intent);
  for (const warning of isExec ? [] : (preview?.warnings ?? [])) output.line(`warning: ${warning}`, 'yellow');
  // The output of exec begins with what its command prints.
  if (preview !== undefined && !isExec && !isEmptyPlan(preview.plan))
    output.line(describeCounts(preview.plan));
  const reply = await client.operate(name, intent, { queue });
  return finish(session, name, reply, { ...options, since, fleeting: isExec });
}

/** Which nodes, and how many of them at a time. */
export function scopeOf({ nodes, rolling }: Pick<OperationOptions, 'nodes' | 'rolling'>): {
  readonly nodes?: readonly string[];
  readonly width?: number;
} {
  return { nodes, width: rolling };
}
