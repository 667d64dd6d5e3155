import { CancellationScope } from '@temporalio/workflow';
import { afterRevocation, loginOf, type Access } from '../../model/machine/access.js';
import type { MachineTaskOutcome } from '../../model/machine/messages.js';
import { refuse, toNotDone } from './failure.js';
import { happen, note, type MachineMemory } from './memory.js';
import { accessOf, can, runAction } from './run-step.js';
import { change } from '../entity.js';

/**
 * Creates the account that the machine's user logs in with. The account is recorded before its creation, so
 * it is revoked even if the creation fails half-way. Its password is recorded first as well: every attempt
 * sets the same one.
 */
export async function grantAccess(
  memory: MachineMemory,
  { user, publicKey }: Pick<Access, 'user' | 'publicKey'>,
): Promise<void> {
  const { name, payload, holder } = memory.state;
  if (!can(memory, 'GRANT_ACCESS')) {
    // A resource that its plugin reaches has no log-in.
    if (payload['ssh-auth'] === undefined) return;
    refuse(
      memory,
      'GRANT_ACCESS',
      'not done',
      `machine ${name} has no system that can create an account for ${user}, ` +
        'and its own login is not given to users; register it with --system linux',
    );
  }
  try {
    const credential = publicKey === undefined ? { password: await makePassword(memory) } : { publicKey };
    const period = holder === undefined ? {} : { reservation: holder.reservation, until: holder.until };
    change(memory, { access: { user, login: loginOf(user), ...credential, ...period } });
    const { accounts = '' } = await runAccess(memory, 'GRANT_ACCESS');
    recordAccess(memory, { accounts });
  } catch (error) {
    // What cannot be revoked now is revoked before the machine is anyone else's.
    await CancellationScope.nonCancellable(() =>
      revokeAccess(memory).catch((second: unknown) => {
        note(memory, toNotDone(memory, 'REVOKE_ACCESS', second).message);
      }),
    );
    throw toNotDone(memory, 'GRANT_ACCESS', error);
  }
}

/** The reservation ends at another time than before, and the account with it. */
export async function extendAccess(memory: MachineMemory, until: string): Promise<void> {
  const before = memory.state.access;
  if (before?.accounts === undefined || before.changed !== undefined || before.until === until) return;
  recordAccess(memory, { until });
  // Accounts expire by the day.
  if (before.until?.slice(0, 10) === until.slice(0, 10)) return;
  try {
    await runAccess(memory, 'GRANT_ACCESS');
  } catch (error) {
    change(memory, { access: before });
    throw toNotDone(memory, 'GRANT_ACCESS', error);
  }
}

/**
 * Removes the account of the machine's user, and looks whether the machine's own accounts are as they were.
 */
async function revokeAccess(memory: MachineMemory): Promise<void> {
  if (memory.state.access === undefined) return;
  settleAccess(memory, await runAccess(memory, 'REVOKE_ACCESS'));
}

/** Takes over what REVOKE_ACCESS found. */
export function settleAccess(memory: MachineMemory, { accounts }: MachineTaskOutcome): void {
  const { access } = memory.state;
  if (access === undefined) return;
  const left = afterRevocation(access, accounts);
  change(memory, { access: left });
  if (left !== undefined) note(memory, changedText(memory.state.name, access));
}

/**
 * Frees the machine for others only without its user's account and with its own accounts unchanged. A machine
 * whose account cannot be revoked goes to maintenance.
 * @throws NotDone
 */
export async function clearAccess(memory: MachineMemory): Promise<void> {
  const { access, name } = memory.state;
  if (access === undefined) return;
  try {
    await revokeAccess(memory);
  } catch (error) {
    const notDone = toNotDone(memory, 'REVOKE_ACCESS', error);
    happen(memory, 'maintain', `the account of ${access.user} could not be revoked: ${notDone.message}`);
    throw notDone;
  }
  if (memory.state.access === undefined) return;
  const next = `load an image with 'heddle machine load ${name} IMAGE --force'`;
  refuse(memory, 'REVOKE_ACCESS', 'not done', `${changedText(name, access)}; ${next}`);
}

/**
 * After a load: what the user changed went with the old disk, unless the provider writes none.
 * @throws NotDone
 */
export function endAccess(
  memory: MachineMemory,
  { accounts }: MachineTaskOutcome,
  isUntouched: boolean,
): void {
  const { access, name } = memory.state;
  if (access === undefined) return;
  if (isUntouched && afterRevocation(access, accounts) !== undefined) {
    const next = 'its provider cannot write images, so restore them, and load again';
    refuse(memory, 'REVOKE_ACCESS', 'not done', `${changedText(name, access)}; ${next}`);
  }
  change(memory, { access: undefined });
}

function changedText(machine: string, { user }: Access): string {
  return `accounts, keys or sudo rules of machine ${machine} may have been changed while ${user} had it`;
}

async function makePassword(memory: MachineMemory): Promise<string> {
  const { password } = await runAction(memory, 'MAKE_PASSWORD');
  return password ?? refuse(memory, 'MAKE_PASSWORD', 'unknown', 'no password was made');
}

function runAccess(
  memory: MachineMemory,
  action: 'GRANT_ACCESS' | 'REVOKE_ACCESS',
): Promise<MachineTaskOutcome> {
  const { access } = memory.state;
  if (action === 'GRANT_ACCESS' && access !== undefined)
    return runAction(memory, action, { order: { access } });
  return runAction(memory, action, { order: accessOf(memory, { action }) });
}

function recordAccess(memory: MachineMemory, part: Partial<Access>): void {
  const { access } = memory.state;
  if (access !== undefined) change(memory, { access: { ...access, ...part } });
}
