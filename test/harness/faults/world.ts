import type { CloudMachine } from './cloud.js';

/** A script that was started on a machine. */
export interface Execution {
  readonly cluster: string;
  readonly runId: string;
  readonly machine: string;
  readonly nodeId: string;
  readonly service: string;
  readonly action: string;
  readonly operation: string;
  /** As tasks are called in tables: `db-1 db START`; `-` for no service. */
  readonly task: string;
}

/** What a run's id says. */
export function readRun(
  runId: string,
): Pick<Execution, 'nodeId' | 'service' | 'action' | 'operation' | 'task'> {
  const [, nodeId = '', service = '', action = '', operation = ''] =
    /^[^/]+\/([^/#]+)#\d+\/([^/]+)\/([A-Z]+)\/([^/_.]+)(?:_\d+)?\.\d+/.exec(runId) ?? [];
  return { nodeId, service, action, operation, task: `${nodeId} ${service} ${action}` };
}

/** In the clusters of these tests `web` needs `db` at run time. */
const needs: Readonly<Record<string, string>> = { web: 'db' };

/** Undefined when a service may start there now; else what is wrong. */
export function checkStart(
  { task, service, runId }: Execution,
  machine: CloudMachine,
  all: readonly CloudMachine[],
): string | undefined {
  if (machine.running.has(service)) return `${task} (${runId}) although it runs there`;
  const need = needs[service];
  if (need === undefined || all.some(({ running }) => running.has(need))) return undefined;
  return `${task} (${runId}) while ${need} runs nowhere`;
}

export function checkStop(
  { task, service, runId }: Execution,
  all: readonly CloudMachine[],
): string | undefined {
  const dependant = Object.entries(needs).find(([, need]) => need === service)?.[0];
  if (dependant === undefined || all.every(({ running }) => !running.has(dependant))) return undefined;
  return `${task} (${runId}) while ${dependant} runs`;
}
