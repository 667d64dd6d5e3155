import { z } from 'zod';
import { nodeCommandSchema, sudoSchema } from './node-command.js';

const logFileSchema = z
  .string()
  .max(1_000)
  .regex(/^\/[\w./*?[\]@%+=:,-]*$/, {
    error:
      'must be the absolute path of a file on the node; * and ? stand for any characters, and blanks are not allowed',
  });

/**
 * Where the logs of a service are on its nodes, for `heddle logs --source service`. Tasks do
 * not depend on it.
 */
export const serviceLogsSchema = z
  .strictObject({
    files: z
      .array(logFileSchema)
      .min(1)
      .max(20)
      .exactOptional()
      .meta({ title: 'Files', description: 'Files on the node, such as /var/log/app/*.log.' }),
    command: nodeCommandSchema
      .exactOptional()
      .meta({
        title: 'Command',
        description:
          'Shell command that prints the last $LINES lines, and goes on with new ones if $FOLLOW is 1, such as: journalctl -u app -n "$LINES" ${FOLLOW:+-f}.',
      }),
    sudo: sudoSchema('As root', 'read'),
  })
  .refine(({ files, command }) => (files === undefined) !== (command === undefined), {
    error: 'must have one of files and command',
  })
  .meta({
    title: 'Logs',
    description: 'Where the logs of the service are on its nodes: {files} or {command}.',
  });

export type ServiceLogs = z.output<typeof serviceLogsSchema>;
