import { bounds } from '../../model/bounds.js';
import { digestsIn } from '../../model/artifact/used.js';
import { revisionContract } from '../../model/cluster/contract.js';
import type { RevisionStart } from '../../model/cluster/revision.js';
import { handlersOf, newMemory, runEntity, type NextStep } from '../entity.js';

/**
 * Keeps a revision of a cluster's spec, so that the cluster carries only its number, until the cluster drops
 * it.
 */
export async function revision({ carried }: RevisionStart): Promise<string> {
  const { cluster, number, spec } = carried;
  let dropped = false;
  return runEntity(newMemory(), {
    messages: handlersOf(revisionContract, {
      signals: {
        drop: () => {
          dropped = true;
        },
      },
      queries: { spec: () => spec, usedResources: () => digestsIn(spec) },
    }),
    step: (): NextStep => (dropped ? { ended: `cluster ${cluster} no longer keeps revision ${number}` } : {}),
    carry: () => carried,
    bounds: bounds.revision,
  });
}
