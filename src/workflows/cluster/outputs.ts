import { log } from '@temporalio/workflow';
import { clusterMessages } from '../messages.js';
import type { ReadOutputsRequest } from '../../model/cluster/contract.js';
import { outputsOf } from '../../model/cluster/outputs.js';
import { noteValues } from '../../model/cluster/readers.js';
import type { ClusterState } from '../../model/cluster/state.js';
import type { ServiceSpec } from '../../model/cluster/spec.js';
import {
  importsOf,
  taskVariables,
  usedVariables,
  type TaskVariables,
} from '../../model/cluster/variables.js';
import type { Json } from '../../model/json.js';
import { clusterWorkflowId } from '../../model/names.js';
import { stableJson } from '../../model/node/payload.js';
import { signalIfThere } from '../signal-if-there.js';
import { queueOperation } from './accept.js';
import type { Memory } from './memory.js';
import { change } from '../entity.js';

type Values = ReadOutputsRequest['values'];

/** Notes which values another cluster has of outputs of this one. */
export function noteReader(memory: Memory, { cluster, values }: ReadOutputsRequest): void {
  const { readers, forgotten } = noteValues(memory.state.readers ?? {}, cluster, values);
  change(memory, { readers });
  if (forgotten.length > 0)
    log.warn(
      'too many clusters use outputs of this one; apply these after a change, because they are not notified',
      { clusters: forgotten },
    );
}

export function noteChangedImports(memory: Memory): void {
  if (Object.keys(importsOf(memory.state.spec)).length > 0) change(memory, { importsChanged: true });
}

/** Of a cluster at rest: tells its readers of changed outputs, and the clusters that it reads what it has. */
export async function exchangeOutputs(memory: Memory): Promise<void> {
  for (const [cluster, values] of changedFor(memory.state)) {
    noteReader(memory, { cluster, values });
    if (!(await signalIfThere(clusterWorkflowId(cluster), clusterMessages.signals.outputsChanged)))
      noteReader(memory, { cluster, values: {} });
  }
  for (const [cluster, values] of unreported(memory.state)) {
    const { reported = {} } = memory.state;
    change(memory, { reported: { ...reported, [cluster]: stableJson(values) } });
    await signalIfThere(clusterWorkflowId(cluster), clusterMessages.signals.readOutputs, {
      cluster: memory.state.name,
      values,
    });
  }
}

/**
 * Queues an apply of the spec as it is if values that it has of other clusters have changed. It replaces one
 * that is held because an earlier value did not fit.
 */
export function followImports(memory: Memory): boolean {
  const { importsChanged, spec, operation, queue, lease, planned } = memory.state;
  if (importsChanged !== true || spec === undefined) return false;
  const isUnfit = operation?.state === 'held' && operation.cause === 'output' && planned !== true;
  if ((operation !== undefined && !isUnfit) || queue.length > 0 || lease !== undefined) return false;
  change(memory, { importsChanged: undefined });
  queueOperation(memory, {
    intent: { kind: 'apply' },
    by: 'a changed output of another cluster',
    spec,
    cause: 'output',
  });
  return true;
}

/** After a plan the values are reported once more: the other cluster may have been made anew. */
export function reportAgain({ reported }: Pick<ClusterState, 'reported'>): Pick<ClusterState, 'reported'> {
  if (reported === undefined) return {};
  return { reported: Object.fromEntries(Object.keys(reported).map((cluster) => [cluster, ''])) };
}

/** The imports of a plan, and the variables that services which only remain to be removed refer to. */
export function importsFor(
  { spec, imports: before }: ClusterState,
  retired: readonly (readonly [string, ServiceSpec])[],
  planned: TaskVariables = {},
): Pick<ClusterState, 'imports'> {
  const fields = retired.map(([, { actions }]) => actions as unknown as Json);
  const imports = { ...usedVariables(fields, taskVariables(spec, before)), ...planned };
  return Object.keys(imports).length === 0 ? {} : { imports };
}

/** Readers of outputs with other values than they have. An output without a value keeps its last one. */
function changedFor({ readers = {}, ...state }: ClusterState): readonly (readonly [string, Values])[] {
  if (Object.keys(readers).length === 0) return [];
  const present = Object.entries(outputsOf(state)).flatMap(([name, output]) =>
    'value' in output ? [[name, output.value] as const] : [],
  );
  return Object.entries(readers).flatMap(([cluster, values]) => {
    const changed = present.filter(
      ([name, value]) =>
        Object.hasOwn(values, name) && stableJson(values[name] ?? null) !== stableJson(value),
    );
    return changed.length === 0 ? [] : [[cluster, { ...values, ...Object.fromEntries(changed) }] as const];
  });
}

/** Clusters that do not know which values this one has of their outputs. */
function unreported({
  spec,
  imports = {},
  reported = {},
}: ClusterState): readonly (readonly [string, Values])[] {
  const sources = importsOf(spec);
  return [...new Set([...Object.keys(sources), ...Object.keys(reported)])].flatMap((cluster) => {
    const values = Object.fromEntries(
      Object.entries(sources[cluster] ?? {}).map(([name, output]): [string, Json] => [
        output,
        imports[name]?.value ?? null,
      ]),
    );
    return reported[cluster] === stableJson(values) ? [] : [[cluster, values] as const];
  });
}
