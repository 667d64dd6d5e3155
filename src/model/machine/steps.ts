import type { MachineAction } from './actions.js';
import type { Verdict } from './node-status.js';

/**
 * One row of a procedure: an activity, and what it means for the machine when it ends one way or the other.
 */
export interface ProcedureStep {
  readonly step: string;
  readonly action: MachineAction;
  /** Usual duration in ms, for the estimate of the remaining time; measured durations replace it. */
  readonly usualMs: number;
  /** Left out where the provider, or the system's part, has no such ability. */
  readonly optional?: true;
  /** A failure is noted, and the procedure continues. */
  readonly mayFail?: true;
  /** Longest time for this step alone, in ms. */
  readonly withinMs?: number;
  /** From here until the image is whole there is half an image on the disk. */
  readonly breaks?: true;
  /** From here on the image on the disk is whole. */
  readonly mends?: true;
}

const minute = 60_000;

/**
 * LOAD. Nothing of the machine but a mark changes before `power off`, and nothing else of its
 * disk before `write`.
 */
export const loadSteps: readonly ProcedureStep[] = [
  { step: 'check image', action: 'IMAGE_EXISTS', usualMs: 2_000, optional: true },
  // A machine that does not answer is written all the same; the step after "wait" must then succeed.
  {
    step: 'revoke access',
    action: 'REVOKE_ACCESS',
    usualMs: 3_000,
    optional: true,
    mayFail: true,
    withinMs: minute,
  },
  { step: 'retrieve image', action: 'RETRIEVE_IMAGE', usualMs: 5 * minute, optional: true },
  { step: 'wait for a permit', action: 'ACQUIRE_PERMIT', usualMs: 1_000 },
  { step: 'verify image', action: 'VERIFY_IMAGE', usualMs: 30_000, optional: true },
  { step: 'prepare reload', action: 'PRE_RELOAD', usualMs: 5_000, optional: true, mayFail: true },
  // A disk that still has the mark afterwards was not written; one that cannot be marked is written twice.
  { step: 'mark disk', action: 'MARK_DISK', usualMs: 2_000, optional: true, mayFail: true },
  { step: 'power off', action: 'POWER_OFF', usualMs: 15_000, optional: true },
  { step: 'set boot', action: 'SET_BOOT', usualMs: 2_000, optional: true },
  { step: 'write', action: 'LOAD', usualMs: 3 * minute, breaks: true },
  { step: 'power on', action: 'POWER_ON', usualMs: 15_000, optional: true },
  { step: 'wait', action: 'REACH', usualMs: minute },
  // Before any program of the system is trusted.
  { step: 'check disk', action: 'CHECK_MARK', usualMs: 2_000, optional: true },
  { step: 'check access', action: 'REVOKE_ACCESS', usualMs: 3_000, optional: true },
  // By the programs of the new system: the user may have changed those of the old one.
  { step: 'erase', action: 'ERASE', usualMs: 5 * minute, optional: true },
  { step: 'post-load', action: 'POST_LOAD', usualMs: 10_000, optional: true },
  { step: 'record', action: 'GET_CURRENT_IMAGE', usualMs: 2_000, mends: true },
];

/** CAPTURE. The machine is in maintenance throughout; loading the new image then proves it. */
export const captureSteps: readonly ProcedureStep[] = [
  { step: 'check target', action: 'IMAGE_EXISTS', usualMs: 2_000 },
  { step: 'wait for a permit', action: 'ACQUIRE_PERMIT', usualMs: 1_000 },
  // The user's account must not become part of the image.
  { step: 'revoke access', action: 'REVOKE_ACCESS', usualMs: 3_000, optional: true },
  { step: 'pre-capture', action: 'PRE_CAPTURE', usualMs: 20_000, optional: true },
  { step: 'power off', action: 'POWER_OFF', usualMs: 15_000, optional: true },
  { step: 'capture', action: 'CAPTURE', usualMs: 5 * minute },
  { step: 'size', action: 'GET_IMAGE_SIZE', usualMs: 2_000 },
];

/**
 * Between a capture and its proof: only a system that runs can be marked, and the disk of one
 * that does not return is kept.
 */
export const returnSteps: readonly ProcedureStep[] = [
  { step: 'power on', action: 'POWER_ON', usualMs: 15_000, optional: true },
  { step: 'wait', action: 'REACH', usualMs: minute },
];

/** What LOAD has to do by what NODE_STATUS said. `unknown`: nothing, because something could be lost. */
export type LoadPlan = 'nothing' | 'post-load' | 'everything' | 'unknown';

export function planLoad(verdict: Verdict): LoadPlan {
  const plans = {
    READY: 'nothing',
    POST_LOAD: 'post-load',
    RELOAD: 'everything',
    UNKNOWN: 'unknown',
  } as const;
  return plans[verdict];
}

/** The steps of a plan: with the image in place only those after waiting for the machine. */
export function stepsOfLoad(plan: 'post-load' | 'everything'): readonly ProcedureStep[] {
  return plan === 'everything'
    ? loadSteps
    : loadSteps.filter(({ action }) => action === 'POST_LOAD' || action === 'GET_CURRENT_IMAGE');
}

/**
 * From the mark to its check. A system that could not be marked before the first write may be
 * the one that runs after it, and answers now.
 */
export function stepsOfSecondWrite(steps: readonly ProcedureStep[]): readonly ProcedureStep[] {
  const at = (action: MachineAction): number => steps.findIndex((step) => step.action === action);
  return steps.slice(at('MARK_DISK'), at('CHECK_MARK') + 1);
}

/** Those of a procedure that the provider and the system's part can do. */
export function possibleSteps(
  steps: readonly ProcedureStep[],
  can: (action: MachineAction) => boolean,
): readonly ProcedureStep[] {
  return steps.filter(({ optional, action }) => optional !== true || can(action));
}

/** Time left from a step on, in ms, by what the steps took last time, else by what they usually take. */
export function estimateLeft(
  steps: readonly ProcedureStep[],
  from: string,
  spentMs: number,
  measured: Readonly<Record<string, number>>,
): number {
  const at = steps.findIndex(({ step }) => step === from);
  const usual = ({ step, usualMs }: ProcedureStep): number => measured[step] ?? usualMs;
  const left = steps.slice(Math.max(at, 0)).reduce((sum, step) => sum + usual(step), 0);
  const current = steps[at];
  return Math.max(0, left - Math.min(spentMs, current === undefined ? 0 : usual(current)));
}
