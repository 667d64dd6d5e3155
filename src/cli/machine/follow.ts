import type { MachineView } from '../../model/machine/state.js';
import { machineWorkflowId } from '../../model/names.js';
import { exitCodes } from '../errors.js';
import { untilInterrupted } from '../waiting.js';
import { lookAtWorkflows } from '../system/server-view.js';
import type { Output } from '../output.js';
import type { Session } from '../session.js';
import { formatDuration } from '../format.js';
import { printEnd } from './machine-text.js';

export interface FinishOptions {
  readonly wait: boolean;
  /** Cancellation was requested. */
  readonly cancelled?: boolean;
}

/** Waits for the end of an operation, shows its steps and how it ended; returns the exit code. */
export async function finishOperation(
  { client, temporal, output }: Session,
  name: string,
  operation: string,
  { wait, cancelled = false }: FinishOptions,
): Promise<number> {
  const next = `heddle machine show ${name}`;
  if (!wait) {
    output.line(`${name}: operation ${operation} is accepted`);
    output.line(`next: ${next}`);
    output.document({ machine: name, operation: { id: operation } });
    return exitCodes.ok;
  }
  const end = await untilInterrupted(
    (signal) => client.machines.waitFor(name, operation, { signal, onView: showSteps(output) }),
    `operation ${operation} of machine ${name}`,
    next,
    {
      look: () => lookAtWorkflows(temporal, [machineWorkflowId(name)], `machine ${name}`),
      more: next,
      onChange: (text) => {
        if (text !== undefined) output.line(text);
      },
    },
  );
  printEnd(output, end.machine, end.operation);
  output.document({ machine: end.machine, operation: end.operation });
  const { state } = end.operation;
  return state === 'done' || (cancelled && state === 'cancelled') ? exitCodes.ok : exitCodes.failed;
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
