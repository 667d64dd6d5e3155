import type { JsonObject } from '../model/json.js';
import { isPluginError, PluginError } from './errors.js';

/**
 * One thing that a machine is made of: a volume, an address, the instance itself. Every function may be
 * called again after any of them was cut, so each looks before it acts, or sends a token that its API knows.
 */
export interface Step<Subject> {
  /** For messages and logs. */
  readonly name: string;
  /**
   * Makes it, or finds what an earlier call made, and tells what later steps and the payload need of it. What
   * the steps before it told is in `made`.
   * @throws PluginError; NotReady where the next step has to wait for it.
   */
  readonly make: (subject: Subject, made: JsonObject) => Promise<JsonObject>;
  /**
   * Takes it away again, by the machine's key alone, whether it is there or not. `going` when it is not gone
   * yet: what was made before it is left until it is.
   */
  readonly undo: (subject: Subject) => Promise<'gone' | 'going'>;
}

/**
 * Takes the steps in their order. One that was taken before tells the same again, so that a CREATE which was
 * cut goes on where it was. When a step fails, what is there stays there: DELETE of the same key takes it
 * away. Only where there is no room for a step are all undone at once, for the engine asks elsewhere then: to
 * it a refusal means that nothing was made.
 */
export async function takeSteps<Subject>(
  steps: readonly Step<Subject>[],
  subject: Subject,
): Promise<JsonObject> {
  try {
    let made: JsonObject = {};
    for (const step of steps)
      made = { ...made, ...(await naming(step, 'make', () => step.make(subject, made))) };
    return made;
  } catch (error) {
    if (isPluginError(error) && (error.kind === 'Capacity' || error.kind === 'Quota'))
      await undoSteps(steps, subject);
    throw error;
  }
}

/**
 * Undoes all steps, the last one first; those that were never taken too, for nobody may know how far an
 * earlier CREATE came.
 * @throws PluginError NotReady naming the step that is not undone yet.
 */
export async function undoSteps<Subject>(
  steps: readonly Step<Subject>[],
  subject: Subject,
  lookAgainMs = 500,
): Promise<void> {
  for (const step of steps.toReversed()) {
    const state = await naming(step, 'undo', () => step.undo(subject));
    if (state === 'going')
      throw new PluginError('NotReady', `step ${step.name} is not undone yet`, { retryAfterMs: lookAgainMs });
  }
}

/** Has a failure say at which step it was. */
async function naming<Value, Subject>(
  { name }: Step<Subject>,
  what: string,
  act: () => Promise<Value>,
): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    if (!isPluginError(error)) throw error;
    const { kind, message, retryAfterMs, stdout, stderr, exitCode, result } = error;
    throw new PluginError(kind, `${what} ${name}: ${message}`, {
      cause: error,
      retryAfterMs,
      result,
      stdout,
      stderr,
      exitCode,
    });
  }
}
