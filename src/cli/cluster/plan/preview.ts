import type { PlanPreview } from '../../../client/preview.js';
import { describeIntent } from '../../../model/cluster/operation.js';
import type { Intent } from '../../../model/plan/intent.js';
import { isEmptyPlan } from '../../../model/plan/plan.js';
import type { ClusterSpec } from '../../../model/cluster/spec.js';
import { CliError, exitCodes } from '../../errors.js';
import type { Output } from '../../output.js';
import type { Session } from '../../session.js';
import { placeProblems } from '../../spec-file.js';
import { describePlan } from './document.js';
import { drawPlan, type GraphForm } from './graph.js';
import { printPlan } from './print-plan.js';

export interface PreviewForm {
  readonly graph?: GraphForm;
  readonly detailedExitcode?: boolean;
}

/** What an apply would do. @throws ProblemsError with places in the file. */
export async function previewApply(
  { client }: Session,
  spec: ClusterSpec,
  file: string,
  { rolling }: { readonly rolling?: number },
): Promise<PlanPreview> {
  return client.plan(spec, { width: rolling }).catch((error: unknown) => {
    throw refusalOf(placeProblems(error, file));
  });
}

/**
 * What any other operation would do.
 * @throws CliError Invalid when it names what the cluster does not have, Refused for a rollback to nowhere.
 */
export async function previewOperation(
  { client }: Session,
  name: string,
  intent: Intent,
): Promise<PlanPreview> {
  const preview = await client.preview(name, intent).catch((error: unknown) => {
    throw refusalOf(error, `${describeIntent(intent)} of ${name}: `);
  });
  if (
    intent.kind === 'rollback' &&
    preview.plan.spec === undefined &&
    (await client.status(name)).operation === undefined
  ) {
    throw new CliError(
      'Refused',
      `cluster ${name} has no earlier spec to go back to: only one was ever brought about`,
      { next: `heddle delete ${name}` },
    );
  }
  return preview;
}

/** Writes a plan as asked, and gives the code to exit with. */
export function showPreview(
  output: Output,
  name: string,
  intent: Intent,
  preview: PlanPreview,
  form: PreviewForm = {},
): number {
  const { plan } = preview;
  const what = describeIntent(intent);
  if (form.graph === undefined) printPlan(output, { name, what, preview });
  else output.raw(drawPlan(plan, form.graph));
  output.document(describePlan(name, what, preview));
  return form.detailedExitcode === true && !isEmptyPlan(plan) ? exitCodes.usage : exitCodes.ok;
}

/** The planner refuses with the failure Invalid, some way down the chain of causes. */
function refusalOf(error: unknown, what = ''): unknown {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('type' in cause && cause.type === 'Invalid')
      return new CliError('Invalid', `${what}${cause.message}`, { cause: error });
  }
  return error;
}
