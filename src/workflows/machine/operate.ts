import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { isUnfinished } from '../../model/machine/decide.js';
import type { MachineOperation } from '../../model/machine/state.js';
import type { OperationResult } from '../../model/machine/messages.js';
import { NotDone } from './failure.js';
import { changeOperation, endOperation, type MachineMemory } from './memory.js';
import { change } from '../entity.js';

const beingCancelled = 'it is being cancelled';

/** Carries out an operation to its end; rethrows errors that are not its result. */
export async function operate(
  memory: MachineMemory,
  operation: MachineOperation,
  work: () => Promise<OperationResult>,
): Promise<void> {
  const scope = new CancellationScope({ cancellable: true });
  memory.scope = scope;
  delete memory.offByUs;
  delete memory.bootByUs;
  delete memory.postLoadBegun;
  if (memory.cancelled === true) scope.cancel();
  try {
    const result = await scope.run(work);
    const { operation: now } = memory.state;
    endOperation(memory, { state: 'done', answer: 'done', result: { ...now?.result, ...result } });
  } catch (error) {
    const { kind } = operation.intent;
    if (kind === 'retry' && isUnfinished(memory.state) && error instanceof NotDone)
      change(memory, { why: error.message });
    if (kind === 'register' && memory.state.account !== undefined)
      change(memory, {
        state: 'failed',
        why: isCancellation(error)
          ? 'its registration was cancelled'
          : error instanceof Error
            ? error.message
            : 'it was not registered',
      });
    if (error instanceof NotDone)
      endOperation(memory, { state: 'failed', answer: error.answer, failure: error.failure });
    else if (isCancellation(error))
      endOperation(memory, {
        state: 'cancelled',
        answer: 'unknown',
        notes: (memory.state.operation?.notes ?? []).filter((text) => text !== beingCancelled),
      });
    else throw error;
  } finally {
    delete memory.scope;
    delete memory.cancelled;
  }
}

export function cancelOperation(memory: MachineMemory): void {
  if (memory.state.operation === undefined) return;
  memory.cancelled = true;
  changeOperation(memory, { notes: [...memory.state.operation.notes, beingCancelled] });
  memory.scope?.cancel();
}
