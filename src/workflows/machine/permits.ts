import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { MachineOrder } from '../../model/machine/messages.js';
import { toNotDone } from './failure.js';
import { note, type MachineMemory } from './memory.js';
import { runAction } from './run-step.js';

export function permitsOf({ state: { account } }: MachineMemory): NonNullable<MachineOrder['slots']> {
  return { site: account?.site ?? '' };
}

/**
 * A place that was not given back is the same machine's at its next load, so a failure here blocks no other
 * machine for long.
 */
export async function releasePermit(memory: MachineMemory): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    try {
      await runAction(memory, 'RELEASE_PERMIT', { order: { slots: permitsOf(memory) } });
    } catch (error) {
      if (isCancellation(error)) throw error;
      note(
        memory,
        `its load permit of the site was not released: ${toNotDone(memory, 'RELEASE_PERMIT', error).message}`,
      );
    }
  });
}
