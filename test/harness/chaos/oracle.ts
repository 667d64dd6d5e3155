import type { Client } from '@temporalio/client';
import { endedStates } from '../../../src/model/cluster/operation.js';
import type { ClusterStatus } from '../../../src/schema/output/status.js';
import { readSurely } from './ask.js';
import type { ChaosWorld } from './chaos-world.js';
import { lookUp } from './look-up.js';

/**
 * What must be true of a cluster whenever nothing is under way, whatever was killed before. Gives what is
 * wrong, in words; nothing when all is well.
 */
export async function judgeCluster(
  { machines, ledger }: ChaosWorld,
  status: ClusterStatus,
): Promise<readonly string[]> {
  const recorded = status.nodes.flatMap(({ providerid }) => providerid ?? []).toSorted();
  const alive = (await machines.list()).filter(({ cluster }) => cluster === status.name);
  const ids = alive.map(({ id }) => id).toSorted();
  const executions = (await ledger.executions()).filter(({ clusterUid }) => clusterUid === status.uid);
  const creations = (await machines.creations()).filter(({ key }) => key.startsWith(`${status.uid}/`));
  return [
    ...(ids.join() === recorded.join()
      ? []
      : [`machines alive: ${ids.join(', ') || 'none'}; machines recorded: ${recorded.join(', ') || 'none'}`]),
    ...doubled(creations.map(({ key }) => key)).map((key) => `two machines were made for key ${key}`),
    ...doubled(executions.map(({ run }) => run)).map((run) => `run ${run} was executed twice`),
    ...operationsOf(status),
  ].map((wrong) => `${status.name}: ${wrong}`);
}

/** A cluster whose operation was done is as its spec says, minus what was stopped. */
export async function judgeWhole(
  { machines, stack }: ChaosWorld,
  { name, nodes, stopped }: ClusterStatus,
): Promise<readonly string[]> {
  const alive = await machines.list();
  const spec = await readSurely(() => stack.client.spec(name));
  const wantedNodes = Object.values(spec?.nodes ?? {}).reduce((sum, { count }) => sum + count, 0);
  const wrong =
    nodes.length === wantedNodes ? [] : [`${name}: ${nodes.length} nodes instead of ${wantedNodes}`];
  for (const { nodeId, state, services, running, providerid } of nodes) {
    const wanted = services
      .filter((service) => !stopped.includes(service))
      .toSorted()
      .join();
    const marks = [...(alive.find(({ id }) => id === providerid)?.running ?? [])].toSorted().join();
    if (state !== 'ready') wrong.push(`${name}: node ${nodeId} is ${state}`);
    if (running.toSorted().join() !== wanted)
      wrong.push(
        `${name}: on ${nodeId} should run ${wanted || 'nothing'}, recorded is ${running.join() || 'nothing'}`,
      );
    if (marks !== wanted)
      wrong.push(
        `${name}: on ${nodeId} should run ${wanted || 'nothing'}, and there runs ${marks || 'nothing'}`,
      );
  }
  return wrong;
}

/** What must be true of everything in the end, when all clusters are deleted. */
export async function judgeEnd({ machines, ledger, crew, stack }: ChaosWorld): Promise<readonly string[]> {
  const left = await machines.list();
  const executions = await ledger.executions();
  const open = await openWorkflows(stack.client.temporal);
  return [
    ...left.map(({ id, hostname }) => `machine ${id} (${hostname}) is left`),
    ...doubled((await machines.creations()).map(({ key }) => key)).map(
      (key) => `two machines were made for key ${key}`,
    ),
    ...doubled(executions.map(({ run }) => run)).map((run) => `run ${run} was executed twice`),
    ...open.map((workflow) => `workflow ${workflow} has not ended`),
    ...crew
      .logs()
      .split('\n')
      .filter((line) => /failing workflow task|nondetermin|TMPRL1100/i.test(line))
      .map((line) => `a worker could not carry on a workflow: ${line}`),
  ];
}

/** A sweep or a round that a schedule started just now has time to end. */
async function openWorkflows(temporal: Client): Promise<readonly string[]> {
  let open: readonly string[] = [];
  await lookUp(async () => {
    const running: string[] = [];
    for await (const { workflowId } of temporal.workflow.list({ query: 'ExecutionStatus = "Running"' }))
      running.push(workflowId);
    open = running;
    return open.length === 0 ? true : undefined;
  }, AbortSignal.timeout(60_000));
  return open;
}

function operationsOf({ operation, queued, history }: ClusterStatus): readonly string[] {
  const under = [...(operation === undefined || operation.state === 'held' ? [] : [operation]), ...queued];
  return [
    ...under.map(
      ({ id, what, state }) => `operation ${id} (${what}) is ${state}, though nothing should be under way`,
    ),
    ...doubled(history.map(({ id }) => id)).map((id) => `operation ${id} ended twice`),
    ...history.flatMap(({ id, what, state, tasks: { done, total, failed } }) => {
      if (!endedStates.includes(state)) return [`operation ${id} (${what}) is over and ${state}`];
      // A CREATE that was refused for want of room and made elsewhere counts as failed, too.
      return state === 'done' && done !== total
        ? [`operation ${id} (${what}) is done with ${done} of ${total} tasks, ${failed} failed`]
        : [];
    }),
  ];
}

function doubled(words: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const word of words) (seen.has(word) ? twice : seen).add(word);
  return [...twice];
}
