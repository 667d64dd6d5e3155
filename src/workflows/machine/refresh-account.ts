import { isCancellation } from '@temporalio/workflow';
import type { MachineIntent } from '../../model/machine/state.js';
import { schedule } from '../schedule.js';
import { toNotDone } from './failure.js';
import { note, type MachineMemory } from './memory.js';
import { change } from '../entity.js';

/** Operations that call the provider. */
const asksProvider: readonly MachineIntent['kind'][] = [
  'status',
  'power',
  'boot',
  'load',
  'capture',
  'unload',
  'retry',
];

/**
 * Applies the present settings of the machine's account: heddle.yaml, or the build of the workers, may have changed
 * since its registration.
 */
export async function refreshAccount(memory: MachineMemory, { kind }: MachineIntent): Promise<void> {
  if (!asksProvider.includes(kind)) return;
  const { registration, account: before } = memory.state;
  try {
    const account = await schedule('DESCRIBE_ACCOUNT', registration, {
      summary: `DESCRIBE_ACCOUNT ${registration.provider}`,
    });
    // Another type of provider cannot have this machine.
    if (account.type === before?.type) change(memory, { account });
  } catch (error) {
    if (isCancellation(error)) throw error;
    note(
      memory,
      `the settings of its account are those of before: ${toNotDone(memory, 'CREATE', error).message}`,
    );
  }
}
