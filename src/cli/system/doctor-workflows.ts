import type { Client } from '@temporalio/client';
import { listClusters, type ClusterListing } from '../../client/list.js';
import { findStuck, listStuck, recoverCommand, textOfStuck } from '../../client/stuck.js';
import { formatCount } from '../format.js';
import { messageOf } from '../report-error.js';
import { fail, ok, warn, type Finding } from './doctor-local.js';

const check = 'workflows';
/** Workflows that are described; the others are counted. */
const described = 5;

/** Whether workers can continue all workflows. */
export async function checkWorkflows(open: () => Client): Promise<Finding> {
  try {
    const temporal = open();
    const ids = await listStuck(temporal);
    const found = await Promise.all(ids.slice(0, described).map((id) => findStuck(temporal, id)));
    const stuck = found.filter((one) => one !== undefined);
    const [first] = stuck;
    // The index lags behind a workflow that has just been continued.
    if (first === undefined) return ok(check, 'no workflow has failing tasks');
    const more = ids.length - described;
    const lines = [...stuck.map(textOfStuck), ...(more > 0 ? [`and ${more} more`] : [])];
    return fail(check, lines.join('\n'), recoverCommand(first.workflowId));
  } catch (error) {
    return warn(check, `could not be checked: ${messageOf(error)}`);
  }
}

/** Whether all clusters are as they were asked to be, or on their way there. */
export async function checkClusters(open: () => Client): Promise<Finding> {
  try {
    return judgeClusters(await listClusters(open()));
  } catch (error) {
    return warn('clusters', `could not be listed: ${messageOf(error)}`);
  }
}

export function judgeClusters(clusters: readonly Pick<ClusterListing, 'name' | 'phase'>[]): Finding {
  const wrong = clusters.filter(({ phase }) => phase === 'held' || phase === 'failed');
  const [first] = wrong;
  if (first === undefined)
    return ok('clusters', `${formatCount(clusters.length, 'cluster')}, none is held or failed`);
  const named = wrong.slice(0, described).map(({ name, phase = '' }) => `${name} (${phase})`);
  const more = wrong.length > described ? [`${wrong.length - described} more`] : [];
  const text = `${wrong.length} of ${formatCount(clusters.length, 'cluster')} held or failed: ${[...named, ...more].join(', ')}`;
  return warn('clusters', text, `heddle status ${first.name}`);
}
