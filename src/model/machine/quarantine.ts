import { imageUnusable } from '../node/failure.js';
import type { MachineAction } from './actions.js';
import { longestComment, rowOf } from './intents.js';
import type { MachineOperation, MachineState } from './state.js';

/** Actions that do nothing to the machine: whatever their failure is, it is none of the machine's. */
const elsewhere: readonly MachineAction[] = [
  'IMAGE_EXISTS',
  'RETRIEVE_IMAGE',
  'VERIFY_IMAGE',
  'ACQUIRE_PERMIT',
];

/** Counts consecutive failures when an operation ends; after too many the machine is quarantined. */
export function afterOperation(
  { account, failures: before = 0, quarantine, owner }: MachineState,
  { id, intent, state, failure, endedAt = '' }: MachineOperation,
): Pick<MachineState, 'failures' | 'quarantine'> {
  const { quarantineAfter = 0 } = account ?? {};
  if (owner !== undefined || rowOf(intent.kind).counts !== true || state === 'cancelled') return {};
  if (state === 'done') return before === 0 ? {} : { failures: 0 };
  if (failure?.kind === imageUnusable) return {};
  if (elsewhere.some((action) => action === failure?.action)) return {};
  const failures = before + 1;
  if (quarantineAfter === 0 || failures < quarantineAfter || quarantine !== undefined) return { failures };
  const comment = `${failures} consecutive operations failed; the last, operation ${id}: ${failure?.message ?? 'no reason was given'}`;
  return {
    failures,
    quarantine: { by: 'heddle', comment: comment.slice(0, longestComment), since: endedAt },
  };
}
