import { schedule } from '../schedule.js';
import { ActivityFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import { assignedMachine } from '../../model/machine/assigned.js';
import { correctionOf, noteReadings, noteTry, type Observation } from '../../model/machine/drift.js';
import type { NodeStatusReport } from '../../model/machine/node-status.js';
import { refusalOf } from '../../model/machine/decide.js';
import type { MessageIntent } from '../../model/machine/intents.js';
import { accountRef, probedNode } from '../../model/node/assigned-machine.js';
import { NotDone, toNotDone } from './failure.js';
import { change, now } from '../entity.js';
import type { MachineMemory } from './memory.js';
import { runAction } from './run-step.js';

/** Limit of one check, in ms; the next periodic check tries again. */
const checkMs = 60_000;

/**
 * Checks the machine between operations; a new operation ends the check. Changes only the record. Returns the
 * correction to carry out.
 */
export async function checkMachine(memory: MachineMemory): Promise<MessageIntent | undefined> {
  const scope = new CancellationScope({ cancellable: true });
  memory.scope = scope;
  try {
    const observation = await scope.run(() => observe(memory));
    change(memory, { drift: noteReadings(memory.state, observation, now()), checkedAt: now() });
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return undefined;
  } finally {
    delete memory.scope;
  }
  return memory.state.operation === undefined ? correct(memory) : undefined;
}

function correct(memory: MachineMemory): MessageIntent | undefined {
  const correction = correctionOf(memory.state);
  if (correction === undefined || refusalOf(memory.state, correction.intent) !== undefined) return undefined;
  change(memory, { drift: noteTry(memory.state.drift ?? [], correction.kind) });
  return correction.intent;
}

async function observe(memory: MachineMemory): Promise<Observation> {
  const [there, status] = await Promise.all([askProvider(memory), askMachine(memory)]);
  if (status === undefined) return { there, power: 'unknown' };
  const { rpower, currentimage, evidence } = status;
  const contradicts = rpower === 0 && status.ssh === 1;
  const power = rpower === null || contradicts ? 'unknown' : rpower === 1 ? 'on' : 'off';
  if (currentimage !== null && evidence.revision !== null)
    return { there, power, image: { name: currentimage, revision: evidence.revision } };
  // Only a record that was read, or is certainly absent, says something about the image.
  const wasRead =
    (status.ssh === 1 || (evidence.by === 'plugin' && status.ping === 1)) &&
    (evidence.tainted !== null || status.status === 'RELOAD');
  return wasRead ? { there, power, image: null } : { there, power };
}

async function askProvider({ state }: MachineMemory): Promise<Observation['there']> {
  const machine = assignedMachine(state);
  const { placement, clusterId, uid } = machine;
  try {
    const { observations, unknown } = await schedule(
      'PROBE_NODES',
      { clusterId, provider: accountRef(placement), nodes: [probedNode(uid, machine)] },
      { at: { site: placement.site }, summary: `PROBE_NODES ${state.name} of ${placement.provider}` },
    );
    if (observations.some(({ seen }) => seen === 'gone')) return 'no';
    return unknown.length > 0 ? 'unknown' : 'yes';
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return 'unknown';
  }
}

async function askMachine(memory: MachineMemory): Promise<NodeStatusReport | undefined> {
  const { image } = memory.state;
  try {
    return (
      await runAction(memory, 'NODE_STATUS', {
        leftMs: checkMs,
        order: image === undefined ? undefined : { image, unchecked: true },
      })
    ).status;
  } catch (error) {
    const why = toNotDone(memory, 'NODE_STATUS', error);
    if (why instanceof NotDone) return undefined;
    throw why;
  }
}
