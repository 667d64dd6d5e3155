import type { MachineAccess } from '../../model/machine/access.js';
import type { MachineView } from '../../schema/output/machine.js';
import type { MachineOperation } from '../../model/machine/state.js';
import { machineWorkflowId } from '../../model/names.js';
import { printAccess } from '../access-text.js';
import { exitCodes } from '../errors.js';
import { printNew, troublesIn, untilEnd } from '../waiting.js';
import { readWorkflows } from '../system/server-view.js';
import type { WaitOptions } from '../configuration.js';
import type { Output } from '../output.js';
import type { Session } from '../session.js';
import type { Shown } from '../verb.js';
import { formatDuration } from '../format.js';
import { printEnd } from './machine-text.js';

/** What a command that starts an operation has to show: the reply to the request, or the end. */
export type Outcome = Accepted | Ended;

interface Accepted {
  readonly name: string;
  readonly accepted: string;
}

interface Ended {
  readonly machine: MachineView;
  readonly operation: MachineOperation;
  /** The login that the operation made. */
  readonly access?: MachineAccess | null;
  /** File of the public key that was given. */
  readonly keyFile?: string | undefined;
}

/** Waits for the end of an operation and shows its steps, unless `wait` is false. */
export async function finish(
  { client, temporal, output }: Session,
  name: string,
  operation: string,
  { wait, timeout }: WaitOptions,
): Promise<Outcome> {
  if (!wait) return { name, accepted: operation };
  const next = showCommand(name);
  return untilEnd({
    what: `operation ${operation} of machine ${name}`,
    next,
    timeout,
    end: (signal) => client.machines.waitFor(name, operation, { signal, onView: showSteps(output) }),
    obstacles: troublesIn(() => readWorkflows(temporal, [machineWorkflowId(name)], `machine ${name}`), next),
    onObstacles: printNew(output),
  });
}

export const outcomeShown = {
  document: (outcome) =>
    'accepted' in outcome
      ? { machine: outcome.name, operation: { id: outcome.accepted } }
      : { machine: outcome.machine, operation: outcome.operation },
  print: (output, outcome) => {
    if ('accepted' in outcome) {
      output.line(`${outcome.name}: operation ${outcome.accepted} is accepted`);
      output.line(`next: ${showCommand(outcome.name)}`);
      return;
    }
    printEnd(output, outcome.machine, outcome.operation);
    if (outcome.access) printAccess(output, outcome.machine.name, outcome.access, outcome.keyFile);
  },
  exitCode: (outcome) =>
    hasEndedAs(outcome, ['done']) && !isUnknown(outcome) ? exitCodes.ok : exitCodes.failed,
} satisfies Shown<[], Outcome>;

/** Whether the operation is accepted, or has ended in one of these states. */
export function hasEndedAs(outcome: Outcome, states: readonly MachineOperation['state'][]): boolean {
  return 'accepted' in outcome || states.includes(outcome.operation.state);
}

/** A status check with the result "unknown". */
function isUnknown(outcome: Outcome): boolean {
  if (!('operation' in outcome)) return false;
  const { power, status } = outcome.operation.result ?? {};
  // In other operations the status is what they began with.
  const isAsked = outcome.operation.intent.kind === 'status';
  return power?.power === 'unknown' || (isAsked && status?.status === 'UNKNOWN');
}

function showCommand(name: string): string {
  return `heddle machine show ${name}`;
}

/** One line for each step, with the time left as estimated from earlier loads. */
function showSteps(output: Output): (view: MachineView) => void {
  let shown: string | undefined;
  return ({ operation }) => {
    const step = operation?.step;
    if (step === undefined || step.step === shown) return;
    shown = step.step;
    output.line(`${step.number}/${step.of} ${step.step}, about ${formatDuration(step.leftMs)} left`);
  };
}
