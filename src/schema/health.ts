import { z } from 'zod';
import type { HealthCheck, HealthProbe } from '../model/node/health.js';
import { durationSchema, parseDuration } from './duration.js';

const portSchema = z.int().min(1).max(65_535);
const hostSchema = z
  .string()
  .regex(/^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*)$/, {
    error: "A host name or address; node stands for the node's own.",
  });
const endpointPattern = /^(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):)?(\d{1,5})$/;

/** A check as people write it. */
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
      .exactOptional()
      .meta({ title: 'Within', description: 'How long START waits for it; "1m" unless given.' }),
    every: durationSchema
      .exactOptional()
      .meta({ title: 'Every', description: 'Wait between two looks; "1s" unless given.' }),
    timeout: durationSchema
      .exactOptional()
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

export type WrittenCheck = z.output<typeof checkSchema>;

const milliseconds = z.int().min(1);

/** A check that was closed before. */
export const closedCheckSchema = z.strictObject({
  probe: z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('command'),
      command: z.string().min(1),
      sudo: z.literal(true).exactOptional(),
    }),
    z.strictObject({ kind: z.literal('tcp'), host: hostSchema, port: portSchema }),
    z.strictObject({
      kind: z.literal('http'),
      url: z.string().refine(isUrl, { error: 'is no http or https URL' }),
    }),
  ]),
  withinMs: milliseconds,
  everyMs: milliseconds,
  timeoutMs: milliseconds,
}) satisfies z.ZodType<HealthCheck>;

export function normaliseCheck(written: WrittenCheck): HealthCheck {
  const { within = '1m', every = '1s', timeout = '5s' } = written;
  return {
    probe: probeOf(written),
    withinMs: parseDuration(within) ?? 60_000,
    everyMs: parseDuration(every) ?? 1_000,
    timeoutMs: parseDuration(timeout) ?? 5_000,
  };
}

function probeOf({ command, sudo, tcp, http }: WrittenCheck): HealthProbe {
  if (command !== undefined) return { kind: 'command', command, ...(sudo === true ? { sudo } : {}) };
  if (http !== undefined) return { kind: 'http', url: http };
  const { host, port } = readEndpoint(String(tcp)) ?? { host: '127.0.0.1', port: 0 };
  return { kind: 'tcp', host, port };
}

function readEndpoint(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, host = '127.0.0.1', digits] = endpointPattern.exec(text) ?? [];
  const port = Number(digits);
  return portSchema.safeParse(port).success ? { host, port } : undefined;
}

function isUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  // A password would be shown by status.
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}
