import type { FailureRecord } from '../../model/failure.js';
import type { Drift } from '../../model/node.js';
import type { Operation } from '../../model/operation.js';
import type { ClusterStatus } from '../../model/status.js';

/** A command that one may type now, and what it is for. */
export interface NextStep {
  readonly command: string;
  readonly why: string;
}

/** What one would most likely type now. */
export function nextCommand(status: ClusterStatus): string | undefined {
  return nextSteps(status)[0]?.command;
}

/** What one may type now, the most likely first. */
export function nextSteps(status: ClusterStatus): readonly NextStep[] {
  const { name, operation, queued } = status;
  if (operation === undefined) return queued.length === 0 ? afterDrift(status) : [watch(name)];
  if (operation.state === 'held') return afterHold(status, operation);
  if (operation.paused !== undefined)
    return [{ command: `heddle resume ${name}`, why: 'go on' }, cancel(name)];
  return [watch(name)];
}

/** One for each kind of drift. */
function afterDrift({ name, nodes }: ClusterStatus): readonly NextStep[] {
  const first = (...kinds: readonly Drift[]): string | undefined =>
    nodes.find(({ drift }) => drift !== undefined && kinds.includes(drift.seen))?.nodeId;
  const [off, silent, changed] = [first('stopped'), first('unreachable'), first('gone', 'rebooted', 'moved')];
  return [
    ...(changed === undefined
      ? []
      : [{ command: 'heddle apply FILE', why: `sees to ${changed}, as the file's repair says` }]),
    ...(off === undefined
      ? []
      : [
          {
            command: `heddle machine power ${name}/${off} on`,
            why: 'switch it on, and start what ran on it',
          },
        ]),
    ...(silent === undefined
      ? []
      : [
          { command: `heddle machine power ${name}/${silent} reset`, why: 'start its machine anew' },
          { command: `heddle replace ${name} ${silent}`, why: 'a new machine for it' },
        ]),
  ];
}

function afterHold({ name, nodes }: ClusterStatus, { kind }: Operation): readonly NextStep[] {
  const failed = nodes.filter(({ failure }) => failure !== undefined);
  const steps: NextStep[] = [
    { command: `heddle retry ${name}`, why: failed.length === 0 ? 'try it again' : 'go on from what failed' },
  ];
  const lost = failed.filter(({ failure }) => failure?.action === 'DELETE').map(({ nodeId }) => nodeId);
  const broken = failed.find(({ failure }) => failure !== undefined && helpsNewMachine(failure));
  if (broken !== undefined && ['apply', 'rollback', 'replace'].includes(kind)) {
    steps.push({
      command: `heddle replace ${name} ${broken.nodeId}`,
      why: 'a new machine for it, then go on',
    });
  }
  if (kind === 'apply') {
    steps.push(
      { command: 'heddle apply FILE', why: 'with a corrected file' },
      { command: `heddle rollback ${name}`, why: 'back to the spec before' },
    );
  }
  for (const node of lost.slice(0, 3))
    steps.push({ command: `heddle abandon ${name} ${node}`, why: 'forget its machine, which stays' });
  if (kind !== 'delete') steps.push(cancel(name));
  return kind === 'apply'
    ? [...steps, { command: `heddle delete ${name}`, why: 'take all of it down' }]
    : steps;
}

/** A machine that cannot be had for good is not had by asking again. */
function helpsNewMachine({ action, kind }: FailureRecord): boolean {
  return action !== 'CREATE' && action !== 'DELETE' && kind !== 'Auth' && kind !== 'Invalid';
}

function watch(name: string): NextStep {
  return { command: `heddle status ${name} --watch`, why: 'see how it goes on' };
}

function cancel(name: string): NextStep {
  return { command: `heddle cancel ${name}`, why: 'end it; what was done stays' };
}
