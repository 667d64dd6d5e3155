import type { MachineView } from '../../model/machine/state.js';
import { machineWorkflowId } from '../../model/names.js';
import { cleanLine } from '../clean-text.js';
import { CliError } from '../cli-error.js';
import { lookAtWorkflows } from '../look/server-view.js';
import { catchInterrupt } from '../operate/follow-operation.js';
import { followTroubles } from '../operate/follow-troubles.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../output.js';
import type { Session } from '../session.js';
import { formatDuration } from '../time-text.js';
import { printEnd } from './text.js';

export interface FinishOptions {
  readonly wait: boolean;
  /** That it was cancelled is what was asked for. */
  readonly cancelled?: true;
}

/** Waits for the end of an operation, telling its steps, and says how it ended. */
export async function finishOperation(
  session: Session,
  output: Output,
  name: string,
  operation: string,
  { wait, cancelled }: FinishOptions,
): Promise<number> {
  if (!wait) {
    output.line(`${cleanLine(name)}: operation ${operation} is accepted`);
    output.line(`next: heddle machine show ${cleanLine(name)}`);
    output.document({ machine: name, operation: { id: operation } });
    return exitCodes.ok;
  }
  const interrupt = catchInterrupt();
  const over = new AbortController();
  void followTroubles({
    signal: over.signal,
    look: () => lookAtWorkflows(session.temporal, [machineWorkflowId(name)], `machine ${name}`),
    more: `heddle machine show ${name}`,
    onChange: (text) => {
      if (text !== undefined) output.line(cleanLine(text));
    },
  });
  try {
    const waiting = session.client.machines.waitFor(name, operation, {
      signal: interrupt.signal,
      onView: tellSteps(output),
    });
    waiting.catch(() => undefined);
    const end = await Promise.race([waiting, interrupt.happened]);
    printEnd(output, end.machine, end.operation);
    output.document({ machine: end.machine, operation: end.operation });
    return end.operation.state === 'done' || (cancelled === true && end.operation.state === 'cancelled')
      ? exitCodes.ok
      : exitCodes.failed;
  } catch (cause) {
    if (!interrupt.signal.aborted) throw cause;
    throw new CliError('Interrupted', `stopped watching; operation ${operation} of machine ${name} goes on`, {
      next: `heddle machine show ${name}`,
      cause,
    });
  } finally {
    over.abort();
    interrupt.release();
  }
}

/** One line for each step, with the time left as far as earlier loads tell. */
function tellSteps(output: Output): (view: MachineView) => void {
  let told: string | undefined;
  return ({ operation }) => {
    const step = operation?.step;
    if (step === undefined || step.step === told) return;
    told = step.step;
    output.line(
      cleanLine(`${step.number}/${step.of} ${step.step}, about ${formatDuration(step.leftMs)} left`),
    );
  };
}
