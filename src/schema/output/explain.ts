import { z } from 'zod';
import { count, texts, type View } from './exact.js';

const code = z.string().describe('What `heddle explain` takes: NoWorker, ScriptFailed, data folder.');
const of = z
  .enum(['command', 'task', 'check'])
  .describe('command: a code of an error. task: a kind of failure. check: a check of heddle doctor.');

const causeMembers = {
  cause: z.string(),
  remedy: z.string(),
  command: z.string().optional().describe('The command that helps. Words in capitals stand for values.'),
};
const causeSchema = z.object(causeMembers);

const entryMembers = {
  title: z.string(),
  meaning: z.string(),
  reaction: z.string().optional().describe('What Heddle does by itself.'),
  causes: z.array(causeSchema).describe('The most frequent first.'),
};

/** What a code means, and what to do. */
export type Explanation = View<z.ZodObject<typeof entryMembers>>;

const entrySchema = z.object({
  code,
  of,
  exitCode: count.optional().describe('For a code of an error.'),
  ...entryMembers,
  messages: texts.describe('Messages of this meaning of the code that have an explanation of their own.'),
});

export type CodeEntry = View<typeof entrySchema>;

const caseSchema = z.object({
  message: z.string().describe('With … for names, numbers and other values.'),
  code,
  of: of.exclude(['check']),
  ...causeMembers,
});

/** Why a message was written, and what to do. */
export type MessageCase = View<typeof caseSchema>;

export const explainDocuments = {
  explain: [
    z.object({ codes: z.array(z.object({ code, of, title: z.string() })) }).describe('Without an argument.'),
    z.object({
      entries: z
        .array(entrySchema)
        .describe('Several if the code means one thing for a command and another for a task.'),
      cases: z.array(caseSchema).describe('The best match first.'),
    }),
  ],
};
