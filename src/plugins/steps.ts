import type { JsonObject } from '../model/json.js';
import { isPluginError, PluginError } from './errors.js';

/**
 * One part of a machine: a volume, an address, the instance itself. Its functions may be called again after
 * any call was cut, so each looks before it acts, or sends a token that its API knows.
 */
export interface Step<Subject> {
  /** For messages and logs. */
  readonly name: string;
  /**
   * Creates the part, or finds what an earlier call created. Returns what later steps and the payload need;
   * `made` has the results of the steps before.
   * @throws PluginError; NotReady where the next step has to wait.
   */
  readonly make: (subject: Subject, made: JsonObject) => Promise<JsonObject>;
  /**
   * Removes the part by the machine's key alone, whether it exists or not. `going` while it still exists:
   * earlier parts then stay.
   */
  readonly undo: (subject: Subject) => Promise<'gone' | 'going'>;
}

/**
 * Runs the steps in order. A step that ran before returns the same again, so an interrupted CREATE continues.
 * If a step fails, parts stay for DELETE; except after Capacity and Quota, which mean that nothing was
 * created: then all steps are undone.
 */
export async function takeSteps<Subject>(
  steps: readonly Step<Subject>[],
  subject: Subject,
): Promise<JsonObject> {
  try {
    let made: JsonObject = {};
    for (const step of steps)
      made = { ...made, ...(await withName(`make ${step.name}`, () => step.make(subject, made))) };
    return made;
  } catch (error) {
    if (isPluginError(error) && (error.kind === 'Capacity' || error.kind === 'Quota'))
      await undoSteps(steps, subject);
    throw error;
  }
}

/**
 * Undoes all steps in reverse order, also those that may never have been taken.
 * @throws PluginError NotReady naming the step that is not undone yet.
 */
export async function undoSteps<Subject>(
  steps: readonly Step<Subject>[],
  subject: Subject,
  retryAfterMs = 500,
): Promise<void> {
  for (const step of steps.toReversed())
    if ((await withName(`undo ${step.name}`, () => step.undo(subject))) === 'going')
      throw new PluginError('NotReady', `step ${step.name} is not undone yet`, { retryAfterMs });
}

/** Adds the step to the message of a failure. */
async function withName<Value>(step: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!isPluginError(error)) throw error;
    const { kind, message, retryAfterMs, stdout, stderr, exitCode, result } = error;
    const known = { retryAfterMs, stdout, stderr, exitCode, result };
    throw new PluginError(kind, `${step}: ${message}`, { cause: error, ...known });
  }
}
