import {
  clusterWorkflowType,
  imageWorkflowType,
  machineWorkflowType,
  poolWorkflowType,
  reservationsWorkflowType,
  searchAttributes,
} from '../../model/names.js';
import type { DevRecord } from './dev-record.js';

const own = [
  clusterWorkflowType,
  poolWorkflowType,
  machineWorkflowType,
  imageWorkflowType,
  reservationsWorkflowType,
];

/** Queries for the list of workflows: what users made, without the workflows that help it; clusters that wait for them. */
export const webUiQueries = {
  own: `WorkflowType IN (${own.map((type) => `"${type}"`).join(',')})`,
  held: `${searchAttributes.phase}="held" AND ExecutionStatus="Running"`,
} as const;

/** The address of a list of workflows. */
export function webUiLink({ ui, namespace }: Pick<DevRecord, 'ui' | 'namespace'>, query: string): string {
  return `${ui}/namespaces/${namespace}/workflows?${new URLSearchParams({ query }).toString()}`;
}
