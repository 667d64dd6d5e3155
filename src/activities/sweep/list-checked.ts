import { imageWorkflowId, machineWorkflowId } from '../../model/names.js';
import type { ActivityParts } from '../parts.js';

/** The activity LIST_CHECKED: the workflows that check themselves when they are signalled. */
export async function listChecked({
  clusters,
}: Pick<ActivityParts, 'clusters'>): Promise<{ readonly workflows: readonly string[] }> {
  const owners = await clusters.living();
  const prefixes = [machineWorkflowId(''), imageWorkflowId('')];
  const workflows = owners.map(({ name }) => name);
  return { workflows: workflows.filter((name) => prefixes.some((prefix) => name.startsWith(prefix))) };
}
