import type { ClusterSpec } from '../../model/cluster/spec.js';
import type { OperationOptions, ScopeOptions, ServerOptions, WaitOptions } from '../configuration.js';
import { exitCodes } from '../errors.js';
import type { Confirmation } from '../terminal.js';
import { verb } from '../verb.js';
import { requireCluster } from './cluster-verb.js';
import { confirmDelete } from './confirm-delete.js';
import { finish, type Outcome, outcomeShown } from './outcome.js';
import { confirmLosses } from './plan/confirm-losses.js';
import { applyIntentOf, previewApply, previewOperation, withWarnings } from './plan/preview.js';
import { checkSavedPlan, type ReadPlan } from './plan/saved-plan.js';

type ApplyOptions = OperationOptions &
  Confirmation &
  ScopeOptions & { readonly createOnly?: boolean; readonly acceptMinimum?: boolean };

/** Applies a spec that was read from a file; messages contain the file's name. */
export const apply = verb<[written: ClusterSpec, file: string, options: ApplyOptions], Outcome>(
  async (session, written, file, options) => {
    const { output, client } = session;
    const { plan = false, verbose, queue = false, createOnly = false } = options;
    const { name } = written;
    const unprobed = plan ? await client.probe(name) : [];
    // Read once, so that the shown plan is the applied one.
    const spec = await client.resources.pin(written);
    // Only workers know plugins and providers, so their problems are reported before anything is created.
    const preview = withWarnings(await previewApply(session, spec, file, options), unprobed);
    const intent = applyIntentOf(options);
    if (plan) return { name, intent, preview, verbose };
    // It leaves a cluster that exists as it is.
    const asking = createOnly ? { ...options, yes: true } : options;
    const consent = await confirmLosses(output, { name, intent, preview }, asking);
    const since = Date.now();
    const { width, nodes, services } = intent;
    const reply = await client.apply(spec, { createOnly, queue, width, nodes, services, consent });
    return finish(session, name, reply, { ...options, since });
  },
  { ...outcomeShown, worker: true },
);

type SavedOptions = OperationOptions & Confirmation & { readonly acceptMinimum?: boolean };

/** Carries out exactly a plan that was saved: whoever saved it saw what is lost. */
export const applySaved = verb<[saved: ReadPlan, path: string, options: SavedOptions], Outcome>(
  async (session, saved, path, options) => {
    const { spec, rolling, nodes, services, basedOn, planDigest } = saved;
    const { name } = spec;
    const scope = { rolling, nodes, services };
    const intent = applyIntentOf(scope);
    const preview = await previewApply(session, spec, path, scope);
    await checkSavedPlan(session, path, saved, { name, preview });
    if (options.plan === true) return { name, intent, preview, verbose: options.verbose };
    await confirmLosses(session.output, { name, intent, preview }, { ...options, yes: true });
    const since = Date.now();
    const consent = { basedOn, planDigest };
    const reply = await session.client.apply(spec, { width: rolling, nodes, services, consent });
    return finish(session, name, reply, { ...options, since });
  },
  { ...outcomeShown, worker: true },
);

type DeleteOptions = ServerOptions & Confirmation & WaitOptions & Pick<OperationOptions, 'plan' | 'verbose'>;

const unanswered = (name: string): string =>
  `no worker responds; the request to delete ${name} is stored for the next worker`;

/**
 * Deletes a cluster in any state, after confirmation. Without a worker, the request is kept for the next one.
 */
export const deleteCluster = verb(
  async (session, name: string, options: DeleteOptions): Promise<Outcome | undefined> => {
    if (options.plan === true) {
      await requireCluster(session, name);
      const intent = { kind: 'delete' } as const;
      return {
        name,
        intent,
        preview: await previewOperation(session, name, intent),
        verbose: options.verbose,
      };
    }
    await confirmDelete(session, name, options);
    const since = Date.now();
    const { operation, clusterUid, ...rest } = await session.client.delete(name);
    if (operation === undefined || clusterUid === undefined) return undefined;
    return finish(session, name, { operation, clusterUid, ...rest }, { ...options, since });
  },
  {
    document: (outcome, name) =>
      outcome === undefined
        ? {
            cluster: name,
            kept: true,
            error: { code: 'NoWorker', message: unanswered(name), next: 'heddle worker' },
          }
        : outcomeShown.document(outcome),
    print: (output, outcome, name) =>
      outcome === undefined
        ? output.lines(`${unanswered(name)}\nnext: heddle worker`)
        : outcomeShown.print(output, outcome),
    error: (outcome) => outcome && outcomeShown.error(outcome),
    exitCode: (outcome) => (outcome === undefined ? exitCodes.unavailable : exitCodes.ok),
  },
);
