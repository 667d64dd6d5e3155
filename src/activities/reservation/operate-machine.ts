import { setTimeout as pause } from 'node:timers/promises';
import type { MachineView } from '../../schema/output/machine.js';
import { Context } from '@temporalio/activity';
import type { MachineOperation } from '../../model/machine/state.js';
import type { OperateMachineReply, OperateMachineRequest } from '../../model/reservation/messages.js';
import { GoneError, msUntil, RefusedError, type ReservationParts } from './parts.js';

/** Poll intervals in ms: short at first, longer for operations that take an hour. */
const quickMs = 150;
const slowMs = 3_000;

/**
 * The activity OPERATE_MACHINE: has a machine carry out one operation, once however often this is tried, and
 * waits for its end.
 */
export async function operateMachine(
  { computers }: Pick<ReservationParts, 'computers'>,
  request: OperateMachineRequest,
): Promise<OperateMachineReply> {
  const { machine, uid, intent, holder, key } = request;
  const { cancellationSignal } = Context.current();
  const by = `reservation ${holder}`;
  const began = performance.now();
  const patienceMs = msUntil(request.until);
  for (;;) {
    const view = await computers.view(machine);
    if (view?.uid !== uid)
      return {
        is: 'gone',
        why:
          view === undefined
            ? `machine ${machine} is no longer registered`
            : `machine ${machine} was registered again`,
      };
    const mine = operationOf(view, key);
    if (mine !== undefined && mine.state !== 'running') return endOf(mine);
    if (mine === undefined && view.operation === undefined) {
      const end = await beginOperation(computers, request, by);
      if (end !== undefined) return end;
      continue;
    }
    if (mine === undefined && performance.now() - began > patienceMs) {
      return {
        is: 'not done',
        answer: 'not done',
        why: `machine ${machine} is busy: ${view.operation?.intent.kind} by ${view.operation?.by}, so ${intent.kind} did not start`,
      };
    }
    await pause(Math.min(slowMs, quickMs + (performance.now() - began) / 10), undefined, {
      signal: cancellationSignal,
    });
  }
}

function operationOf({ operation, history }: MachineView, key: string): MachineOperation | undefined {
  return [...(operation === undefined ? [] : [operation]), ...history].find((known) => known.key === key);
}

/** Undefined if the machine accepted it, or another request came first. */
async function beginOperation(
  computers: ReservationParts['computers'],
  { machine, intent, holder, key }: OperateMachineRequest,
  by: string,
): Promise<OperateMachineReply | undefined> {
  try {
    await computers.operate(machine, { intent, by, holder, key });
    return undefined;
  } catch (error) {
    if (error instanceof GoneError) return { is: 'gone', why: error.message };
    if (!(error instanceof RefusedError)) throw error;
    return (await computers.view(machine))?.operation === undefined
      ? { is: 'refused', why: error.message }
      : undefined;
  }
}

function endOf({ state, answer, failure, result, notes }: MachineOperation): OperateMachineReply {
  const verdict = result?.status?.status;
  if (state === 'done') return { is: 'done', notes, verdict };
  const why = failure?.message ?? (state === 'cancelled' ? 'it was cancelled' : 'no reason was given');
  return { is: 'not done', answer: answer === 'unknown' ? 'unknown' : 'not done', why };
}
