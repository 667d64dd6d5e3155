import type { OperateIntent } from '../../client/heddle-client.js';
import { type Consent, highestIndex, type Losable } from '../../model/cluster/consent.js';
import { bringsToSpec, describeIntent } from '../../model/plan/intent/intent.js';
import type { OperationOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { pairFault, splitPair } from '../pairs.js';
import type { Session } from '../session.js';
import { clusterVerb } from './cluster-verb.js';
import { finish, type Outcome, outcomeShown, type Waiting } from './outcome.js';
import { confirm, type Confirmation } from '../terminal.js';
import { confirmLosses } from './plan/confirm-losses.js';
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

type RollbackOptions = OperationOptions & { readonly acceptMinimum?: boolean; readonly to?: number };

export const rollback = operation(({ to: revision }: RollbackOptions) => ({ kind: 'rollback', revision }));

export const scale = operation((counts: readonly string[], options: OperationOptions) => ({
  kind: 'scale',
  counts: readCounts(counts),
  width: options.rolling,
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
  options: OperationOptions & Confirmation & Pick<Waiting, 'acceptMinimum'>,
): Promise<Outcome> {
  const { plan = false, queue = false } = options;
  const { client, output } = session;
  if (plan) {
    const unprobed = bringsToSpec(intent.kind) ? await client.probe(name) : [];
    const preview = withWarnings(await previewOperation(session, name, intent), unprobed);
    return { name, intent, preview, verbose: options.verbose };
  }
  const isExec = intent.kind === 'exec';
  let consent: Consent | undefined;
  if (queue) consent = await confirmQueued(name, intent, options);
  else {
    const preview = await previewOperation(session, name, intent);
    const { state, operation: held } = preview.basis;
    const continuesHeld = intent.kind === 'replace' && state === 'held';
    if (continuesHeld)
      output.line(`operation ${held} is held, and continues with the replacement within its own limits`);
    // The output of exec begins with what its command prints.
    if (!isExec) consent = await confirmLosses(output, { name, intent, preview }, options);
    // A held operation keeps its own limits; the cluster refuses new ones.
    if (continuesHeld) consent = consent && { basedOn: consent.basedOn };
  }
  const since = Date.now();
  const reply = await client.operate(name, intent, { queue, consent });
  return finish(session, name, reply, { ...options, since, fleeting: isExec });
}

async function confirmQueued(
  name: string,
  intent: OperateIntent,
  options: Confirmation,
): Promise<Consent | undefined> {
  const loss = queuedLoss(intent);
  if (loss === undefined) return undefined;
  await confirm(`Queue ${describeIntent(intent)} of ${name}? It takes ${loss} when it begins.`, options);
  return options.yes === true || intent.kind !== 'scale' ? undefined : { losable: beyond(intent.counts) };
}

/** The nodes beyond new counts; the count of a file may be any. */
function beyond(counts: Readonly<Record<string, number | null>>): Losable {
  return Object.fromEntries(
    Object.entries(counts).map(([group, count]) => [group, [[(count ?? 0) + 1, highestIndex]]]),
  );
}

/** What a queued operation may take, in general: the state in which it begins is not known yet. */
function queuedLoss(intent: OperateIntent): string | undefined {
  switch (intent.kind) {
    case 'replace':
      return `the machines, disks and addresses of ${intent.nodes.join(', ')}`;
    case 'rollback':
      return 'machines, disks and addresses that the earlier spec does not have';
    case 'scale':
      return 'the machines, disks and addresses of nodes beyond the new counts';
    default:
      return undefined;
  }
}

/** `app=5` or `app=file`. @throws CliError Usage */
function readCounts(words: readonly string[]): Readonly<Record<string, number | null>> {
  const pairs: (readonly [string, string])[] = [];
  for (const word of words) {
    const pair = splitPair(word);
    if (pair === undefined || !/^(file|0|[1-9]\d{0,8})$/.test(pair[1]))
      throw new CliError(
        'Usage',
        `"${word}" is not GROUP=COUNT: write app=5, or app=file to return to the count in the file`,
      );
    const fault = pairFault(pair, pairs);
    if (fault !== undefined) throw new CliError('Usage', fault);
    pairs.push(pair);
  }
  return Object.fromEntries(pairs.map(([group, text]) => [group, text === 'file' ? null : Number(text)]));
}

/** Which nodes, and how many of them at a time. */
export function scopeOf({ nodes, rolling }: Pick<OperationOptions, 'nodes' | 'rolling'>): {
  readonly nodes?: readonly string[];
  readonly width?: number;
} {
  return { nodes, width: rolling };
}
