import { z } from 'zod';
import { readEndpoint } from '../../model/endpoint.js';
import { durationSchema } from '../duration.js';
import { nodeCommandSchema, sudoSchema } from './node-command.js';

const portSchema = z.int().min(1).max(65_535);

/** How the health of a service is checked. */
export const checkSchema = z
  .strictObject({
    command: nodeCommandSchema
      .exactOptional()
      .meta({
        title: 'Command',
        description:
          'Shell command that exits with 0 on a healthy node. It runs often and must not change anything.',
      }),
    sudo: sudoSchema('Run as root', 'run the command'),
    tcp: z
      .union(
        [
          portSchema,
          z.string().refine((text) => readEndpoint(text) !== undefined, { error: 'is not a valid port' }),
        ],
        { error: 'is not a valid port' },
      )
      .exactOptional()
      .meta({
        title: 'TCP',
        description:
          "Port that must accept a connection: a port of 127.0.0.1, or HOST:PORT as resolved on the node; node:PORT is the node's own address.",
      }),
    http: z
      .string()
      .max(2_000)
      .refine(isUrl, { error: 'is not a valid http or https URL without credentials' })
      .exactOptional()
      .meta({
        title: 'HTTP',
        description:
          'URL that must answer GET with a status from 200 to 399: "http://127.0.0.1:8080/health", as resolved on the node; http://node:8080/ is the node\'s own address. Certificates are not verified.',
      }),
    within: durationSchema
      .default(60)
      .meta({ title: 'Within', description: 'Maximum wait of START for the check, such as "1m".' }),
    every: durationSchema
      .default(1)
      .meta({ title: 'Every', description: 'Interval between checks, such as "1s".' }),
    timeout: durationSchema
      .default(5)
      .meta({ title: 'Timeout', description: 'Timeout of one check, such as "5s".' }),
  })
  .refine(({ command, tcp, http }) => [command, tcp, http].filter((one) => one !== undefined).length === 1, {
    error: 'must have one of command, tcp and http',
  })
  .refine(({ command, sudo }) => sudo !== true || command !== undefined, {
    error: 'has sudo, which requires command',
  })
  .meta({
    title: 'Check',
    description:
      'Health check of the service: {command}, {tcp} or {http}. START waits for it, and heddle status shows it.',
  });

function isUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  // heddle status would show a password.
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}
