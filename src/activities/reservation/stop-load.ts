import { setTimeout as pause } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { StopLoadRequest } from '../../model/reservation/messages.js';
import { msUntil, type ReservationParts } from './parts.js';

const pollMs = 1_000;

/**
 * The activity STOP_LOAD: ends a load that its reservation no longer needs, unless it writes. Returns
 * when nothing is left to stop; OPERATE_MACHINE, which waits for the load, then gets its end.
 */
export async function stopLoad(
  { computers }: Pick<ReservationParts, 'computers'>,
  { machine, uid, key, until }: StopLoadRequest,
): Promise<void> {
  const { cancellationSignal } = Context.current();
  const [begunAt, leftMs] = [performance.now(), msUntil(until)];
  while (performance.now() - begunAt < leftMs) {
    const view = await computers.view(machine);
    if (view?.uid !== uid) return;
    // The machine may be busy with something else and accept the load later.
    if ((await computers.stopUnneeded(machine, key)) !== 'absent') return;
    await pause(pollMs, undefined, { signal: cancellationSignal });
  }
}
