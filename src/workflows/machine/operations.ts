import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { firstIncarnation } from '../../model/machine/assigned.js';
import { rowOf, type DriftKind, type MachineIntent } from '../../model/machine/intents.js';
import type { MachineOperation } from '../../model/machine/state.js';
import type { OperationResult } from '../../model/machine/messages.js';
import { isUnfinished } from '../../model/machine/decide.js';
import { labelsAfter } from '../../model/machine/selection.js';
import { eraseMs, mustErase } from './erase.js';
import { change, now } from '../entity.js';
import { describeAccount } from './account.js';
import { clearAccess, extendAccess, grantAccess } from './access.js';
import { capture, unload } from './capture.js';
import { NotDone, toNotDone } from './failure.js';
import { load } from './load.js';
import { happen, note, type MachineMemory } from './memory.js';
import { moveTo } from './move.js';
import { can, runAction } from './run-step.js';
import { firstPayload, releaseMachine, task } from './three-tasks.js';

const hour = 3_600_000;

/** Of what people read why it is out of use, in characters. */
const longestReason = 500;

/**
 * Carries out a request; returns when it is done.
 * @throws NotDone if it is not done, or if that is unknown.
 */
export async function runOperation(
  memory: MachineMemory,
  { id, intent, by, startedAt }: MachineOperation,
): Promise<OperationResult> {
  // If nothing overwrote the disk, the same write continues under the same name.
  const token = `${memory.state.uid}/${firstIncarnation}/${id}`;
  switch (intent.kind) {
    case 'register':
      return register(memory);
    case 'retry':
      return isUnfinished(memory.state) ? confirmRegistration(memory) : readHardware(memory);
    case 'status':
      return status(memory, intent);
    case 'power':
      return power(memory, intent);
    case 'boot':
      return boot(memory, intent);
    case 'load':
      return load(memory, {
        image: intent.image,
        force: intent.force === true || memory.state.half !== undefined,
        withinMs: intent.withinMs ?? loadMs(memory),
        only: intent.only,
        token,
      });
    case 'capture':
      return capture(memory, {
        image: intent.image,
        prove: intent.prove,
        withinMs: intent.withinMs ?? 7 * hour,
        token,
      });
    case 'unload':
      return unload(memory);
    case 'move':
      return moveTo(memory, intent.to);
    case 'remove':
      return remove(memory, intent.force === true);
    case 'log in':
      return logIn(memory, intent);
    case 'correct':
      return correct(memory, intent.drift);
    case 'group':
      change(memory, { groups: intent.groups });
      return {};
    case 'label':
      change(memory, { labels: labelsAfter(memory.state.labels, intent) });
      return {};
    case 'quarantine':
      change(memory, { quarantine: { by, comment: intent.comment, since: startedAt } });
      return {};
    case 'end quarantine':
      return endQuarantine(memory);
    case 'hold':
      return hold(memory, intent);
    case 'let go':
      return letGo(memory);
    case 'reserve':
    case 'time out':
    case 'release':
    case 'maintain':
    case 'restore':
      return changeState(memory, intent);
  }
}

/** Limit of a load that has none of its own. */
function loadMs(memory: MachineMemory): number {
  const { loadWithinMs = hour } = memory.state.account ?? {};
  return mustErase(memory) ? loadWithinMs + eraseMs : loadWithinMs;
}

/** The machine is had as a node's machine is: by CREATE and CONFIRM, under a key that names it for ever. */
async function register(memory: MachineMemory): Promise<OperationResult> {
  const { registration, name } = memory.state;
  const account = await describeAccount(registration).catch((error: unknown) => {
    throw toNotDone(memory, 'CREATE', error);
  });
  change(memory, { account, begun: true, payload: firstPayload(name, account) });
  await task(memory, 'CREATE').catch((error: unknown) => withdraw(memory, error));
  change(memory, { unconfirmed: true });
  return confirmRegistration(memory).catch((error: unknown) =>
    isCancellation(error) ? withdraw(memory, error) : Promise.reject(error),
  );
}

/** The machine that CREATE returned must answer; else it stays registered, as failed, until this succeeds. */
async function confirmRegistration(memory: MachineMemory): Promise<OperationResult> {
  await (can(memory, 'ENROL') ? enrol(memory) : task(memory, 'CONFIRM')).catch((error: unknown) => {
    const { answer, failure } = toNotDone(memory, 'CONFIRM', error);
    const { name, owner } = memory.state;
    if (owner !== undefined) throw new NotDone(answer, failure);
    const next = `when this is corrected, run 'heddle machine retry ${name}' to try again, or 'heddle machine remove ${name}' to remove it`;
    throw new NotDone(answer, { ...failure, message: `${failure.message}; ${next}` });
  });
  change(memory, { unconfirmed: undefined, why: undefined, state: 'available' });
  if (can(memory, 'READ_HARDWARE'))
    await readHardware(memory).catch((error: unknown) => {
      note(memory, `its hardware was not read: ${toNotDone(memory, 'READ_HARDWARE', error).message}`);
    });
  return {};
}

/** Longest time for a controller to describe its machine, in ms. */
const describeMs = 60_000;

async function readHardware(memory: MachineMemory): Promise<OperationResult> {
  const { hardware } = await runAction(memory, 'READ_HARDWARE', { leftMs: describeMs }).catch(
    (error: unknown) => {
      throw toNotDone(memory, 'READ_HARDWARE', error);
    },
  );
  if (hardware !== undefined) change(memory, { hardware: { ...hardware, at: now() } });
  return {};
}

/** How long the system of a machine that is on is given to answer, in ms. */
const greetMs = 20_000;

/** The machine's controller must answer; its system may be off, or absent. */
async function enrol(memory: MachineMemory): Promise<void> {
  const { power } = await runAction(memory, 'ENROL').catch((error: unknown) => {
    throw toNotDone(memory, 'ENROL', error);
  });
  if (power?.power === 'off') {
    change(memory, { keepsOff: true });
    note(memory, 'it is switched off; a load, or power on, switches it on');
    return;
  }
  await runAction(memory, 'REACH', { leftMs: greetMs }).catch((error: unknown) => {
    note(memory, `its system does not answer; load an image: ${toNotDone(memory, 'REACH', error).message}`);
  });
}

/** Releases the machine and frees its name. A machine that cannot be released stays registered, as failed. */
async function withdraw(memory: MachineMemory, error: unknown): Promise<never> {
  change(memory, { unconfirmed: undefined });
  if (await CancellationScope.nonCancellable(() => releaseMachine(memory)))
    change(memory, { account: undefined, begun: undefined });
  throw error;
}

async function remove(memory: MachineMemory, isForced: boolean): Promise<OperationResult> {
  await clearAccess(memory).catch((error: unknown) => {
    if (!isForced || isCancellation(error)) throw error;
    note(memory, toNotDone(memory, 'REVOKE_ACCESS', error).message);
  });
  const { begun, owner } = memory.state;
  // A person forces it when they have looked for a machine that the provider may be unable to find.
  if (isForced && owner === undefined) change(memory, { absenceConfirmedAt: Date.now() });
  if (begun === true) await task(memory, 'DELETE');
  memory.removed = true;
  return {};
}

async function correct(memory: MachineMemory, drift: readonly DriftKind[]): Promise<OperationResult> {
  change(memory, { correct: drift });
  return {};
}

function endQuarantine(memory: MachineMemory): OperationResult {
  change(memory, { quarantine: undefined, failures: undefined });
  return {};
}

async function status(
  memory: MachineMemory,
  { image = memory.state.image, logIns }: MachineIntent & { readonly kind: 'status' },
): Promise<OperationResult> {
  const outcome = await runAction(memory, 'NODE_STATUS', { order: { image, logIns } }).catch(
    (error: unknown) => {
      throw toNotDone(memory, 'NODE_STATUS', error);
    },
  );
  return outcome.status === undefined ? {} : { status: outcome.status };
}

async function power(
  memory: MachineMemory,
  { verb }: MachineIntent & { readonly kind: 'power' },
): Promise<OperationResult> {
  const action = (
    { on: 'POWER_ON', off: 'POWER_OFF', reset: 'POWER_RESET', status: 'POWER_STATUS' } as const
  )[verb];
  try {
    const outcome = await runAction(memory, action);
    if (verb !== 'status') keepPower(memory, verb);
    return outcome.power === undefined ? {} : { power: outcome.power };
  } catch (error) {
    const why = toNotDone(memory, action, error);
    // It may have been switched off by a reset whose other half was lost.
    if (verb === 'reset' && why.answer === 'unknown') {
      await runAction(memory, 'POWER_ON').catch((second: unknown) =>
        note(memory, toNotDone(memory, 'POWER_ON', second).message),
      );
    }
    throw why;
  }
}

async function boot(
  memory: MachineMemory,
  { device }: MachineIntent & { readonly kind: 'boot' },
): Promise<OperationResult> {
  await runAction(memory, 'BOOT_ONCE', { order: { device } }).catch((error: unknown) => {
    throw toNotDone(memory, 'BOOT_ONCE', error);
  });
  return {};
}

/** A requested state is not drift. */
function keepPower(memory: MachineMemory, verb: 'on' | 'off' | 'reset'): void {
  change(memory, { keepsOff: verb === 'off' ? true : undefined });
}

/** Marked before the user learns how to log in: from then on the image may have changed. */
async function logIn(
  memory: MachineMemory,
  intent: MachineIntent & { readonly kind: 'log in' },
): Promise<OperationResult> {
  const { user } = intent;
  const { record } = await runAction(memory, 'TAINT', { order: { reason: `user ${user}` } }).catch(
    (error: unknown) => {
      throw toNotDone(memory, 'TAINT', error);
    },
  );
  // Its account may be configured to erase disks until its user has left.
  change(memory, { unerased: true });
  await grantAccess(memory, intent);
  happen(memory, 'log in');
  change(memory, { user });
  return record === undefined ? {} : { record };
}

async function hold(
  memory: MachineMemory,
  { reservation, user, until }: MachineIntent & { readonly kind: 'hold' },
): Promise<OperationResult> {
  await extendAccess(memory, until);
  change(memory, { holder: { reservation, user, until } });
  return {};
}

/**
 * A machine without a log-in is free as it is; otherwise the release has reset it. A machine whose account
 * could not be revoked stays in maintenance, and the reservation ends all the same.
 */
async function letGo(memory: MachineMemory): Promise<OperationResult> {
  await clearAccess(memory).catch((error: unknown) => {
    const { message } = toNotDone(memory, 'REVOKE_ACCESS', error);
    if (memory.state.state !== 'maintenance') happen(memory, 'maintain', message);
    note(memory, message);
  });
  if (memory.state.state === 'reserved') happen(memory, 'release');
  change(memory, { holder: undefined, user: undefined });
  return {};
}

async function changeState(memory: MachineMemory, intent: MachineIntent): Promise<OperationResult> {
  const event = rowOf(intent.kind).begins;
  if (event === undefined) throw new Error(`${intent.kind} changes no state`);
  if (intent.kind === 'release' || intent.kind === 'restore') await clearAccess(memory);
  const { state: before, why } = memory.state;
  // Who took it out of use first had a reason, too.
  const reasons = [
    ...(before === 'maintenance' && why !== undefined ? [why] : []),
    ...(intent.kind === 'maintain' ? [intent.reason] : []),
  ];
  happen(
    memory,
    event,
    intent.kind === 'maintain' ? [...new Set(reasons)].join('; ').slice(0, longestReason) : undefined,
  );
  // After maintenance it has no holder, even if its reservation no longer exists.
  if (intent.kind === 'restore') forgetHolder(memory);
  const { user: _user, ...state } = memory.state;
  memory.state =
    intent.kind === 'reserve'
      ? { ...state, user: intent.user }
      : intent.kind === 'maintain'
        ? memory.state
        : state;
  return {};
}

function forgetHolder(memory: MachineMemory): void {
  change(memory, { holder: undefined });
}
