import { isJsonObject, type JsonObject } from '../model/json.js';
import { isPluginError, PluginError, wrapError } from './errors.js';
import type { CreateRecord } from './services.js';

/**
 * One part of a machine: a volume, an address, the instance itself, or an attachment. Its functions may be
 * called again after an interrupted call.
 */
export interface Step<Subject> {
  /** Name of the step, unique in its table; used in messages, logs and the record. */
  readonly name: string;
  /**
   * Finds the part that an interrupted CREATE may have made, and returns what `make` would have returned;
   * undefined if there is none. Called before `make` only if an earlier CREATE may have been sent. Without
   * it, `make` itself must find an existing part, for example by a client token.
   */
  readonly find?: (subject: Subject, made: JsonObject) => Promise<JsonObject | undefined>;
  /**
   * Creates the part. Returns what later steps and the payload need; `made` has the results of the steps
   * before.
   * @throws PluginError; NotReady where the next step has to wait.
   */
  readonly make: (subject: Subject, made: JsonObject) => Promise<JsonObject>;
  /**
   * Removes the part by the machine's key alone, whether it exists or not. Returns `going` while it still
   * exists; earlier parts are then kept.
   */
  readonly undo: (subject: Subject) => Promise<'gone' | 'going'>;
}

/**
 * Runs the steps in order, and records each as soon as its result is known. A later attempt continues after
 * the last recorded step. If a step fails, existing parts are left for DELETE, except after Capacity and
 * Quota, which mean that nothing was created: then all steps are undone.
 */
export async function takeSteps<Subject>(
  steps: readonly Step<Subject>[],
  subject: Subject,
  record: CreateRecord,
): Promise<JsonObject> {
  refuseSameNames(steps);
  const before = await record.read();
  let recorded: JsonObject = { ...before };
  let made: JsonObject = {};
  try {
    for (const step of steps) {
      const known = recorded[step.name];
      const result = isJsonObject(known) ? known : await takeStep(step, subject, made, before !== undefined);
      made = { ...made, ...result };
      // The last one is recorded as the result of CREATE.
      if (isJsonObject(known) || step === steps.at(-1)) continue;
      recorded = { ...recorded, [step.name]: result };
      await record.write(recorded);
    }
    return made;
  } catch (error) {
    if (isPluginError(error) && (error.kind === 'Capacity' || error.kind === 'Quota')) {
      // A later attempt must not skip a step that is undone now.
      if (Object.keys(recorded).length > 0) await record.write({});
      await undoSteps(steps, subject);
    }
    throw error;
  }
}

async function takeStep<Subject>(
  { name, find, make }: Step<Subject>,
  subject: Subject,
  made: JsonObject,
  mayExist: boolean,
): Promise<JsonObject> {
  return withName(
    `make ${name}`,
    async () => (mayExist ? await find?.(subject, made) : undefined) ?? make(subject, made),
  );
}

function refuseSameNames(steps: readonly Step<never>[]): void {
  const names = steps.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new PluginError(
      'Invalid',
      `two steps are named ${twice}; names must be unique because steps are recorded by name`,
    );
}

/**
 * Undoes all steps in reverse order, including those that may not have run.
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
    throw wrapError(error, `${step}: ${error.message}`);
  }
}
