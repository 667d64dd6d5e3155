import { z } from 'zod';
import type { Json, JsonObject, TaskResult } from '../../contract.js';
import { PluginError } from '../../errors.js';

const outcomeSchema = z.discriminatedUnion('ok', [
  z.strictObject({
    ok: z.literal(true),
    result: z.record(z.string(), z.json()).transform((value): JsonObject => value),
    // Notes of earlier versions have it.
    stdout: z.string().optional(),
  }),
  z.strictObject({
    ok: z.literal(false),
    message: z.string(),
    exitCode: z.int(),
    stdout: z.string(),
    stderr: z.string(),
  }),
]);
const noteSchema = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('begun') }),
  z.strictObject({ state: z.literal('ended'), outcome: outcomeSchema }),
]);

/** How a play ended, as ansible-playbook on the worker reported it. */
export type Outcome = z.output<typeof outcomeSchema>;

/** An attempt's note for later ones: it began to play, and how the play ended. */
export type PlayNote = z.output<typeof noteSchema>;

/** Longest text in a note, in characters; the task's log has all of it. */
const keptText = 2_048;

/** Undefined if no attempt began. @throws PluginError UnknownOutcome for a note that cannot be read. */
export function readNote(before: Json | undefined): PlayNote | undefined {
  if (before === undefined || before === null) return undefined;
  const parsed = noteSchema.safeParse(before);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'UnknownOutcome',
    'the note of an earlier attempt cannot be read: check the node, then retry or delete',
  );
}

export function endedNote(outcome: Outcome): PlayNote {
  if (outcome.ok) return { state: 'ended', outcome };
  const message = outcome.message.slice(0, keptText);
  return {
    state: 'ended',
    outcome: {
      ...outcome,
      message,
      stdout: outcome.stdout.slice(-keptText),
      stderr: outcome.stderr.slice(-keptText),
    },
  };
}

/**
 * The output is left out: it was printed while the play went on.
 * @throws PluginError ScriptFailed if the play failed.
 */
export function toResult(outcome: Outcome): TaskResult {
  if (outcome.ok) return { result: outcome.result };
  throw new PluginError('ScriptFailed', outcome.message, outcome);
}
