import { bringsToSpec } from '../../model/plan/intent/intent.js';
import type { FailureRecord } from '../../model/node/failure.js';
import type { Drift } from '../../model/node/drift.js';
import { isUndeletable } from '../../model/node/abandon.js';
import { isStale } from './node-text.js';
import { leftOf, type Operation } from '../../model/cluster/operation.js';
import type { NextStep, ClusterStatus } from '../../schema/output/status.js';

/** Useful commands, the most likely first. A locked cluster refuses some. */
export function nextSteps(status: ClusterStatus, now: number): readonly NextStep[] {
  const steps = stepsOf(status, now);
  const [first, ...others] =
    status.locked === true
      ? steps.filter(({ command }) => !/^heddle (delete|replace) /.test(command))
      : steps;
  if (first === undefined) return [];
  const remedies = status.operation?.state === 'held' ? remediesOf(status) : [];
  return [remedies.length === 0 ? first : { ...first, remedy: remedies.join('; ') }, ...others];
}

/** The first few, each once. */
function remediesOf({ nodes }: ClusterStatus): readonly string[] {
  return [...new Set(nodes.flatMap(({ failure }) => failure?.remedy ?? []))].slice(0, 3);
}

function stepsOf(status: ClusterStatus, now: number): readonly NextStep[] {
  const { name, operation, queued } = status;
  const watch = { command: `heddle status ${name} --watch`, why: 'follow its progress' };
  if (operation === undefined) return queued.length === 0 ? atRest(status, now) : [watch];
  if (operation.state === 'held') return afterHold(status, operation);
  if (operation.paused === undefined) return [watch, ...slowDeletions(status, now)];
  return [{ command: `heddle resume ${name}`, why: 'continue' }, cancel(name)];
}

/** How long a DELETE is retried, in ms, before abandoning its machine is suggested. */
const patienceMs = 5 * 60_000;

function slowDeletions({ name, nodes }: ClusterStatus, now: number): readonly NextStep[] {
  const slow = nodes.filter(
    (node) => isUndeletable(node) && Date.parse(node.current?.since ?? '') < now - patienceMs,
  );
  return slow.slice(0, 3).map(({ nodeId }) => abandon(name, nodeId));
}

function abandon(name: string, node: string): NextStep {
  return { command: `heddle abandon ${name} ${node}`, why: 'forget its machine without deleting it' };
}

/** Steps for nodes that the last operation left out or unfinished, and for each kind of drift. */
function atRest({ name, nodes, checks, history, locked }: ClusterStatus, now: number): readonly NextStep[] {
  const steps = (
    kinds: readonly Drift[],
    stepsOf: (node: string, services: readonly string[]) => readonly NextStep[],
  ): readonly NextStep[] => {
    const found = nodes.find(({ drift }) => drift !== undefined && kinds.includes(drift.seen));
    return found === undefined ? [] : stepsOf(found.nodeId, found.services);
  };
  const stale = nodes.some(({ state, checkedAt, health = {} }) =>
    [
      ...(state === 'ready' && checkedAt !== undefined ? [{ at: checkedAt }] : []),
      ...Object.values(health),
    ].some((one) => isStale(one, now, checks.every)),
  );
  const missing = nodes.find(
    ({ failure, state }) => failure !== undefined || ['new', 'leaving'].includes(state),
  );
  return [
    ...(missing === undefined ? [] : [{ command: 'heddle apply FILE', why: `retry ${missing.nodeId}` }]),
    ...(leftOf(history) === 0 ? [] : [{ command: 'heddle apply FILE', why: 'apply the rest of the file' }]),
    ...steps(['gone', 'rebooted', 'moved'], (node) => [
      {
        command: 'heddle apply FILE',
        why: `repair ${node} according to the file's repair${locked === true ? '; its lock prevents a replacement of the machine' : ''}`,
      },
    ]),
    ...steps(['rebooted'], (node, services) =>
      services.length === 0
        ? []
        : [
            {
              command: `heddle restart ${name} ${services.join(' ')}`,
              why: `restart the services of ${node}, regardless of the file's repair`,
            },
          ],
    ),
    ...steps(['stopped'], (node) => [
      { command: `heddle machine power ${name}/${node} on`, why: 'switch it on, and start its services' },
    ]),
    ...steps(['unreachable'], (node) => [
      { command: `heddle machine power ${name}/${node} reset`, why: 'restart its machine' },
      { command: `heddle replace ${name} ${node}`, why: 'give it a new machine' },
    ]),
    ...(stale ? [{ command: `heddle status ${name} --probe`, why: 'check machines and services now' }] : []),
  ];
}

function afterHold({ name, nodes, earlierSpec }: ClusterStatus, { kind }: Operation): readonly NextStep[] {
  const failed = nodes.flatMap(({ nodeId, failure }) => (failure === undefined ? [] : [{ nodeId, failure }]));
  const broken = failed.find(({ failure }) => helpsNewMachine(failure));
  const undeletable = failed.filter(({ failure }) => failure.action === 'DELETE');
  const lost = failed.find(({ failure }) => failure.lost !== undefined);
  const mayReplace = bringsToSpec(kind) || kind === 'replace';
  const replaced = lost ?? broken;
  const retry = `heddle retry ${name}`;
  const steps: readonly (readonly [condition: boolean, command: string, why: string])[] = [
    [lost === undefined, retry, failed.length === 0 ? 'retry it' : 'continue from what failed'],
    [
      replaced !== undefined && mayReplace,
      `heddle replace ${name} ${replaced?.nodeId}`,
      'give it a new machine, then continue',
    ],
    [
      lost !== undefined && !mayReplace,
      cancel(name).command,
      `then run heddle replace ${name} ${lost?.nodeId} to give it a new machine`,
    ],
    [lost?.failure.lost?.seen === 'stopped', retry, 'after its machine is switched on again'],
    [kind === 'apply', 'heddle apply FILE', 'with a corrected file'],
    [
      (kind === 'apply' || kind === 'scale') && earlierSpec === true,
      `heddle rollback ${name}`,
      kind === 'scale'
        ? 'return to the last spec and counts that were reached'
        : 'return to the previous spec',
    ],
    ...undeletable
      .slice(0, 3)
      .map(({ nodeId }) => [true, abandon(name, nodeId).command, abandon(name, nodeId).why] as const),
    [kind !== 'delete', cancel(name).command, cancel(name).why],
    [kind === 'apply', `heddle delete ${name}`, 'delete all of it'],
  ];
  return steps.flatMap(([condition, command, why]) => (condition ? [{ command, why }] : []));
}

/** Whether a new machine may help: another request for a machine would fail in the same way. */
function helpsNewMachine({ action, kind }: FailureRecord): boolean {
  return action !== 'CREATE' && action !== 'DELETE' && kind !== 'Auth' && kind !== 'Invalid';
}

function cancel(name: string): NextStep {
  return {
    command: `heddle cancel ${name}`,
    why: 'end it; completed work stays, unconfirmed machines are deleted',
  };
}
