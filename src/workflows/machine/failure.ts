import { isCancellation } from '@temporalio/workflow';
import { unknownOutcome, type FailureRecord } from '../../model/node/failure.js';
import { answerOfFailure, type Answer } from '../../model/machine/answer.js';
import type { MachineAction } from '../../model/machine/actions.js';
import { readTaskFailure } from '../task-failure.js';
import { now } from '../entity.js';
import type { MachineMemory } from './memory.js';

/** An operation that ended without the requested result. */
export class NotDone extends Error {
  readonly answer: Exclude<Answer, 'done'>;
  readonly failure: FailureRecord;

  constructor(answer: Exclude<Answer, 'done'>, failure: FailureRecord) {
    super(failure.message);
    this.name = 'NotDone';
    this.answer = answer;
    this.failure = failure;
  }
}

/** Says no by itself, without any task having failed. */
export function refuse(
  memory: MachineMemory,
  action: MachineAction,
  answer: Exclude<Answer, 'done'>,
  message: string,
): never {
  const { operation, name } = memory.state;
  throw new NotDone(answer, {
    taskId: `${name}/${operation?.id ?? '-'}`,
    action,
    kind: answer === 'unknown' ? unknownOutcome : 'Invalid',
    message,
    at: now(),
  });
}

/** Whatever a task threw, as an answer. @throws the error itself where it is a cancellation. */
export function toNotDone(
  memory: MachineMemory,
  action: MachineAction | 'CREATE' | 'CONFIRM' | 'DELETE',
  error: unknown,
): NotDone {
  if (isCancellation(error) || !(error instanceof Error)) throw error;
  if (error instanceof NotDone) return error;
  const { record } = readTaskFailure(
    error,
    { taskId: `${memory.state.name}/${memory.state.operation?.id ?? '-'}/${action}`, action },
    now(),
  );
  return new NotDone(answerOfFailure(record.kind), record);
}
