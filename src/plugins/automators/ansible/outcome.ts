import { z } from 'zod';
import type { Json, JsonObject, TaskResult } from '../../contract.js';
import { PluginError } from '../../errors.js';

const jsonObjectSchema = z.record(z.string(), z.json()).transform((value): JsonObject => value);
const outcomeSchema = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), result: jsonObjectSchema, stdout: z.string() }),
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

/** How a play ended, as ansible-playbook on the worker told it. */
export type Outcome = z.output<typeof outcomeSchema>;

/** What an attempt leaves for later ones: that it began to play, and how the play ended. */
export type PlayNote = z.output<typeof noteSchema>;

/** Kept of each text for later attempts, in characters; the task's log has more. */
const keptText = 2_048;

/** Undefined where no attempt began. @throws PluginError UnknownOutcome for a note of another kind. */
export function readNote(before: Json | undefined): PlayNote | undefined {
  if (before === undefined || before === null) return undefined;
  const parsed = noteSchema.safeParse(before);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'UnknownOutcome',
    'what an earlier attempt noted of the play cannot be read: look at the node, then retry, or delete',
  );
}

export function endedNote(outcome: Outcome): PlayNote {
  const stdout = outcome.stdout.slice(-keptText);
  if (outcome.ok) return { state: 'ended', outcome: { ...outcome, stdout } };
  const { message, stderr } = outcome;
  return {
    state: 'ended',
    outcome: { ...outcome, message: message.slice(0, keptText), stdout, stderr: stderr.slice(-keptText) },
  };
}

export function toResult(outcome: Outcome): TaskResult {
  if (outcome.ok) return { result: outcome.result, stdout: outcome.stdout };
  const { message, exitCode, stdout, stderr } = outcome;
  throw new PluginError('ScriptFailed', message, { exitCode, stdout, stderr });
}
