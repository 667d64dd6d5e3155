import { z } from 'zod';
import { readEndpoint } from '../../model/endpoint.js';
import { durationSchema } from '../duration.js';

const portSchema = z.int().min(1).max(65_535);

/** How the health of a service is checked. */
export const checkSchema = z
  .strictObject({
    command: z
      .string()
      .min(1)
      .max(10_000)
      .refine((text) => text.trim() !== '', { error: 'is empty' })
      .exactOptional()
      .meta({
        title: 'Command',
        description:
          'Shell text that ends with 0 on the node when the service is well. It runs many times: it should only look.',
      }),
    sudo: z
      .boolean()
      .exactOptional()
      .meta({
        title: 'Run as root',
        description: 'The command, through sudo -n where the login user is not root.',
      }),
    tcp: z
      .union(
        [portSchema, z.string().refine((text) => readEndpoint(text) !== undefined, { error: 'is no port' })],
        { error: 'is no port' },
      )
      .exactOptional()
      .meta({
        title: 'TCP',
        description:
          "Takes a connection: a port of 127.0.0.1, or HOST:PORT as the node sees it; node:PORT is the node's own address.",
      }),
    http: z
      .string()
      .max(2_000)
      .refine(isUrl, { error: 'is no http or https URL' })
      .exactOptional()
      .meta({
        title: 'HTTP',
        description:
          'Answers GET with a status from 200 to 399: "http://127.0.0.1:8080/health", as the node sees it; http://node:8080/ is the node\'s own address.',
      }),
    within: durationSchema
      .default(60)
      .meta({ title: 'Within', description: 'How long START waits for it; "1m" unless given.' }),
    every: durationSchema
      .default(1)
      .meta({ title: 'Every', description: 'Wait between two looks; "1s" unless given.' }),
    timeout: durationSchema
      .default(5)
      .meta({ title: 'Timeout', description: 'Longest time of one look; "5s" unless given.' }),
  })
  .refine(({ command, tcp, http }) => [command, tcp, http].filter((one) => one !== undefined).length === 1, {
    error: 'Give one of command, tcp and http.',
  })
  .refine(({ command, sudo }) => sudo !== true || command !== undefined, {
    error: 'sudo goes with a command.',
  })
  .meta({
    title: 'Check',
    description:
      'How one sees that the service is well: {command}, {tcp} or {http}. START waits for it, heddle status shows it.',
  });

function isUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  // A password would be shown by status.
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}
