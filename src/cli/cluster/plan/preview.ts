import type { PlanPreview } from '../../../client/preview.js';
import { describeIntent, type Intent, type IntentOf } from '../../../model/plan/intent/intent.js';
import { isRejection } from '../../../model/plan/plan-error.js';
import type { ClusterSpec } from '../../../model/cluster/spec.js';
import type { ScopeOptions } from '../../configuration.js';
import { CliError } from '../../errors.js';
import type { Session } from '../../session.js';
import { placeProblems } from '../../spec-file.js';
import type { Shown } from '../../verb.js';
import { describePlan } from './document.js';
import { drawPlan, type GraphForm } from './graph.js';
import { printPlan } from './print-plan.js';

/** What an operation of a cluster would do. */
export interface Planned {
  readonly name: string;
  readonly intent: Intent;
  readonly preview: PlanPreview;
  readonly verbose?: boolean;
  readonly graph?: GraphForm;
  /** Changes have an exit code of their own. */
  readonly detailedExitcode?: boolean;
}

type ApplyScope = ScopeOptions & { readonly rolling?: number };

export function applyIntentOf({ rolling, nodes, services }: ApplyScope): IntentOf<'apply'> {
  return { kind: 'apply', width: rolling, nodes, services };
}

/** What an apply would do. @throws ProblemsError with places in the file. */
export async function previewApply(
  { client }: Session,
  spec: ClusterSpec,
  file: string,
  options: ApplyScope,
): Promise<PlanPreview> {
  return client.plan(spec, applyIntentOf(options)).catch((error: unknown) => {
    throw refusalOf(placeProblems(error, file));
  });
}

/**
 * What any other operation would do.
 * @throws CliError Invalid if it names something that the cluster does not have, Refused for a rollback
 * without a previous spec.
 */
export async function previewOperation(
  { client }: Session,
  name: string,
  intent: Intent,
): Promise<PlanPreview> {
  return client.preview(name, intent).catch((error: unknown) => {
    throw refusalOf(error, `${describeIntent(intent)} of ${name}: `, `heddle nodes ${name}`);
  });
}

/** A preview with additional warnings. */
export function withWarnings(preview: PlanPreview, warnings: readonly string[]): PlanPreview {
  return { ...preview, warnings: [...warnings, ...preview.warnings] };
}

/** A preview as text, a graph or a document. */
export const plannedShown = {
  document: ({ name, intent, preview }) => describePlan(name, describeIntent(intent), preview),
  print: (output, { name, intent, preview, verbose, graph }) => {
    if (graph === undefined) printPlan(output, { name, what: describeIntent(intent), preview, verbose });
    else output.raw(drawPlan(preview.plan, graph));
  },
} satisfies Shown<[], Planned>;

/** The planner's rejection is somewhere in the chain of causes. */
function refusalOf(error: unknown, what = '', overview?: string): unknown {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('type' in cause && isRejection(cause.type))
      return new CliError(cause.type, `${what}${cause.message}`, {
        cause: error,
        ...(cause.type === 'NotFound' && overview !== undefined ? { next: overview } : {}),
      });
  }
  return error;
}
