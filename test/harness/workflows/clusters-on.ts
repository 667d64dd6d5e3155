import { findOperation } from '../../../src/client/wait.js';
import { endedStates, type Operation } from '../../../src/model/cluster/operation.js';
import type { ClusterSpec } from '../../../src/model/cluster/spec.js';
import { resetPoints } from '../faults/resets.js';
import type { Stack } from '../stack.js';
import { until } from '../until.js';

/** What tests of operations ask the clusters of a stack. */
export interface Clusters {
  /** An operation once it has ended or is held. */
  readonly settled: (name: string, id: string) => Promise<Operation>;
  /** Applies a spec; gives its operation once it has ended or is held. */
  readonly apply: (spec: ClusterSpec) => Promise<Operation>;
  /** Resolves when no operation runs or waits; gives the one that is held. */
  readonly ended: (name: string) => Promise<Operation | undefined>;
  /** The event of the last workflow task, when nothing is left to do for the workflow. */
  readonly pointAtRest: (name: string) => Promise<number | undefined>;
  /**
   * The event of the first workflow task after that one: a reset to it delivers the request that it handled.
   */
  readonly pointAfter: (name: string, point: number | undefined) => Promise<number | undefined>;
  /** Machines of a cluster that its provider has, as `<host name> <id>`. */
  readonly machinesOf: (name: string, of?: Pick<Stack['service'], 'machines'>) => Promise<readonly string[]>;
}

/** @param stackOf the stack, once it has started */
export function clustersOn(stackOf: () => Stack): Clusters {
  const settled: Clusters['settled'] = async (name, id) =>
    until(`operation ${id} of ${name} settles`, async () => {
      const found = findOperation(await stackOf().client.summary(name), id);
      return found !== undefined && ['held', ...endedStates].includes(found.state) ? found : undefined;
    });
  return {
    settled,
    apply: async (spec) => {
      const { operation } = await stackOf().client.apply(spec);
      return settled(spec.name, operation);
    },
    ended: async (name) =>
      until(`${name} comes to rest`, async () => {
        const { operation, queued } = await stackOf().client.summary(name);
        if (queued.length > 0 || (operation !== undefined && operation.state !== 'held')) return undefined;
        return { operation };
      }).then(({ operation }) => operation),
    pointAtRest: async (name) => {
      await until(`${name} is at rest`, async () => {
        const { raw } = await stackOf().client.temporal.workflow.getHandle(`cluster/${name}`).describe();
        return raw.pendingWorkflowTask === null || raw.pendingWorkflowTask === undefined;
      });
      return (await resetPoints(stackOf(), name)).at(-1);
    },
    pointAfter: async (name, point = 0) =>
      (await resetPoints(stackOf(), name)).find((event) => event > point),
    machinesOf: async (name, of = stackOf().service) =>
      (await of.machines())
        .filter(({ hostname, state }) => String(hostname).startsWith(`${name}-`) && state !== 'deleting')
        .map(({ hostname, id }) => `${String(hostname)} ${String(id)}`)
        .toSorted(),
  };
}
