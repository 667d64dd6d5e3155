import { z } from 'zod';
import type { JsonObject } from '../../model/json.js';
import { count, json, moment, opaque, texts, type View } from './exact.js';
import { clusterMembers, operationSchema } from './operation.js';

const resultSchema = z.object({
  node: z.string(),
  exitCode: count.nullable().describe('Null if the command did not end.'),
  stdout: z.string(),
  stderr: z.string(),
  cut: z.literal(true).optional().describe('Only the last part of the output is included.'),
  cutAt: count
    .optional()
    .describe('Size in bytes at which the log was cut; it contains the first part of the output.'),
  log: z.string().optional().describe('Name of the log in the store.'),
  problem: z.string().optional().describe('Why it failed, other than by its exit code, such as a full disk.'),
});

const copySchema = z.object({
  source: z.string(),
  target: z.string(),
  files: count,
  bytes: count.describe('Size of the files.'),
  skipped: texts.describe('What was not copied, and why, as text.'),
});

export type CopyDocument = View<typeof copySchema>;

export const taskDocuments = {
  copy: [copySchema],
  exec: [z.object({ ...clusterMembers, operation: operationSchema, results: z.array(resultSchema) })],
  logs: [
    z
      .object({
        node: z.string(),
        operation: z.string(),
        incarnation: count,
        service: z.string().optional(),
        action: z.string(),
        run: count,
        t: moment,
        level: z
          .enum(['debug', 'info', 'warn', 'error'])
          .optional()
          .describe('Absent for the output of scripts.'),
        message: z.string().optional(),
        attributes: opaque<JsonObject>('Attributes of the message.').optional(),
        stream: z.enum(['stdout', 'stderr']).optional(),
        text: z.string().optional(),
        bytes: z
          .string()
          .optional()
          .describe('The same bytes in Base64 if they are not UTF-8; text then contains U+FFFD.'),
      })
      .describe('One line of the log of a task.'),
    z
      .object({
        node: z.string(),
        service: z.string(),
        stream: z.enum(['stdout', 'stderr']),
        text: z.string(),
      })
      .describe('One line of the log of a service, with `--source service`.'),
  ],
  task: [
    z.object({
      taskId: z.string(),
      title: z.string(),
      state: z.string(),
      attempts: count,
      scheduledAt: moment,
      endedAt: moment.optional(),
      tookMs: z.number().optional(),
      taskQueue: z.string(),
      worker: z.string().optional(),
      input: json.optional().describe('Without secrets.'),
      result: json.optional().describe('Without secrets.'),
      failure: z
        .object({ kind: z.string().optional(), message: z.string(), exitCode: json.optional() })
        .optional(),
      log: z.string().optional().describe('Name of the log in the store.'),
      tail: texts.describe('The last lines of the log or the output.'),
    }),
  ],
};
