import { nodeId } from '../model/names.js';
import type { CurrentCluster } from '../model/plan/facts/current.js';
import type { Plan, ServedPlan } from '../model/plan/plan.js';
import { indexesOf } from '../model/plan/ranges.js';
import type { NodeStatus } from '../schema/output/status.js';

/** Nodes whose machines a plan deletes, by their ids. */
export interface Losses {
  /** With their disks and addresses. */
  readonly lost: readonly string[];
  /** Machines of an inventory or a pool: the provider takes them back. */
  readonly released: readonly string[];
}

interface Planned {
  readonly plan: Plan & Pick<ServedPlan, 'releasing'>;
  readonly current: CurrentCluster;
}

/**
 * What a plan takes from a cluster: machines that were in use, unless they are gone already. Asks for the
 * nodes only if there is a provider that takes machines back. A machine of an unknown provider counts as
 * lost.
 */
export async function lossesOf(
  planned: Planned,
  nodesOf: () => Promise<readonly Pick<NodeStatus, 'nodeId' | 'provider'>[]>,
): Promise<Losses> {
  const ids = idsLosingMachines(planned);
  const { releasing = [] } = planned.plan;
  if (ids.length === 0 || releasing.length === 0) return { lost: ids, released: [] };
  const providers = new Map((await nodesOf()).map(({ nodeId: id, provider }) => [id, provider]));
  const isReleased = (id: string): boolean => releasing.includes(providers.get(id) ?? '');
  return { lost: ids.filter((id) => !isReleased(id)), released: ids.filter(isReleased) };
}

function idsLosingMachines({ plan: { kinds, later = [] }, current }: Planned): readonly string[] {
  const deleting = [...kinds, ...later].filter(({ chain }) =>
    chain.some(({ action }) => action === 'DELETE'),
  );
  if (deleting.length === 0) return [];
  const holding = new Set(
    current.nodes.flatMap(({ group, nodes, facts }) =>
      (facts.CONFIRM === true || facts.adopted === true) && facts.seen !== 'gone'
        ? indexesOf(nodes).map((index) => nodeId(group, index))
        : [],
    ),
  );
  const ids = deleting.flatMap(({ group, nodes }) => indexesOf(nodes).map((index) => nodeId(group, index)));
  return [...new Set(ids)].filter((id) => holding.has(id));
}
