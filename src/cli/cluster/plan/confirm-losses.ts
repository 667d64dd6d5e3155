import type { Consent } from '../../../model/cluster/consent.js';
import type { PlanPreview } from '../../../client/preview.js';
import { describeIntent, type Intent } from '../../../model/plan/intent/intent.js';
import { isEmptyPlan } from '../../../model/plan/plan.js';
import { rangesByGroup } from '../../../model/plan/ranges.js';
import type { Output } from '../../output.js';
import { confirm, type Confirmation, hasTerminal } from '../../terminal.js';
import { describeCounts, describeLosses, describeScaled } from './plan-text.js';
import { printPlan } from './print-plan.js';

interface Planning {
  /** Of the cluster. */
  readonly name: string;
  readonly intent: Intent;
  readonly preview: PlanPreview;
}

/**
 * Shows what an operation is about to do, and asks for confirmation if it takes machines from the cluster.
 * Gives what was agreed to; undefined: anything.
 * @throws CliError as `confirm`.
 */
export async function confirmLosses(
  output: Output,
  { name, intent, preview }: Planning,
  options: Confirmation & { readonly verbose?: boolean },
): Promise<Consent | undefined> {
  const { lost, released } = preview.losses;
  const asks = options.yes !== true && lost.length + released.length > 0;
  if (asks && !output.json && hasTerminal()) {
    printPlan(output, { name, what: describeIntent(intent), preview, verbose: options.verbose });
  } else {
    for (const warning of preview.warnings) output.line(`warning: ${warning}`, 'yellow');
    // What a question without a terminal refuses is not done.
    if (!asks) for (const line of describeScaled(name, preview.plan.scaled)) output.line(line, 'yellow');
    if (!asks && !isEmptyPlan(preview.plan)) output.line(describeCounts(preview));
  }
  if (asks)
    await confirm(
      `Continue with ${describeIntent(intent)} of ${name}? ${describeLosses(preview.losses)}`,
      options,
    );
  if (options.yes === true) return undefined;
  return { losable: rangesByGroup([...lost, ...released]), ...(asks ? { basedOn: preview.basis } : {}) };
}
