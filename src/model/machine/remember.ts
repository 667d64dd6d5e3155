import { bounds } from '../bounds.js';
import { cutText, firstWithin, jsonBytes } from '../carried.js';
import type { MachineIntent } from './intents.js';
import { rememberedOperations, type MachineOperation } from './state.js';

/** Of texts that a machine keeps for people, in bytes of JSON. */
export const longestText = 2_000;

/** Largest intent of an operation, in bytes of JSON. */
const mostIntent = 100_000;
/** An ended operation with more keeps only what was asked, and how it ended. */
const mostRemembered = 150_000;

export function refuseLargeIntent(name: string, intent: MachineIntent): string | undefined {
  const bytes = jsonBytes(intent);
  return bytes <= mostIntent
    ? undefined
    : `the request to machine ${name} has ${bytes} bytes as JSON; the limit is ${mostIntent}; use fewer or shorter fields`;
}

/** The last operations, newest first, and of large ones fewer. */
export function rememberOperation(
  history: readonly MachineOperation[],
  ended: MachineOperation,
): readonly MachineOperation[] {
  return firstWithin(
    [shorten(ended), ...history].slice(0, rememberedOperations),
    bounds.machine.history.most,
  );
}

function shorten(operation: MachineOperation): MachineOperation {
  if (jsonBytes(operation) <= mostRemembered) return operation;
  const { result: _result, failure, ...rest } = operation;
  return {
    ...rest,
    notes: ['its results and notes were too large to be stored; see its logs'],
    ...(failure === undefined
      ? {}
      : { failure: { ...failure, message: cutText(failure.message, longestText) } }),
  };
}
