import { z } from 'zod';
import type { JsonObject } from '../../model/json.js';
import type { Calls, Claims, RunOutcome, Shell } from '../contract.js';
import { isPluginError, PluginError } from '../errors.js';
import {
  maxRequests,
  requestNames,
  type ErrorMessage,
  type ReplyMessage,
  type RequestMessage,
  type RequestName,
} from './protocol.js';

/** What of the engine a program may ask for during one call; what is absent is not there in this task. */
export interface Services {
  readonly shell?: Shell | undefined;
  readonly claims?: Claims | undefined;
  readonly calls?: Calls | undefined;
  /** Resolves a reference that stands in the program's own task. */
  readonly secret?: ((reference: string) => Promise<string>) | undefined;
}

const name = z.string().min(1).max(512);
const milliseconds = z.int().min(1).max(86_400_000);
const words = z.array(z.string()).min(1).max(10_000);
const variables = z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string());

const shapes = {
  run: z.strictObject({
    text: z.string(),
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/)
      .exactOptional(),
    stdin: z.string().exactOptional(),
    environment: variables.exactOptional(),
    interpreter: words.exactOptional(),
    sudo: z.boolean().exactOptional(),
    timeoutMs: milliseconds.exactOptional(),
  }),
  exec: z.strictObject({
    command: words,
    stdin: z.string().exactOptional(),
    timeoutMs: milliseconds.exactOptional(),
  }),
  putFile: z.strictObject({
    path: z.string().min(1).max(4_096),
    content: z.string().exactOptional(),
    base64: z.base64().exactOptional(),
    mode: z.int().min(0).max(0o7777).exactOptional(),
  }),
  secret: z.strictObject({ reference: name }),
  'claims.take': z.strictObject({ key: name, candidates: z.array(name).max(10_000) }),
  'claims.release': z.strictObject({ key: name }),
  'claims.held': z.strictObject({}),
  'calls.take': z.strictObject({}),
} as const satisfies Record<RequestName, z.ZodType>;

/** Carries out what a program asks; whatever goes wrong is its answer. */
export async function serveRequest(
  { id, request, ...fields }: RequestMessage,
  allowed: readonly string[],
  services: Services,
): Promise<ReplyMessage> {
  try {
    return { id, result: (await carryOut(request, fields, allowed, services)) ?? null };
  } catch (error) {
    return { id, error: toErrorMessage(error) };
  }
}

/** The answer to a request too many. */
export function refuseRequest({ id }: RequestMessage): ReplyMessage {
  return {
    id,
    error: {
      kind: 'Invalid',
      message: `more than ${maxRequests} requests at a time; wait for answers before asking more`,
    },
  };
}

export function toErrorMessage(error: unknown): ErrorMessage {
  if (isPluginError(error)) {
    const { kind, message, retryAfterMs, exitCode, stdout, stderr } = error;
    return { kind, message, retryAfterMs, exitCode, stdout, stderr };
  }
  return { kind: 'Internal', message: error instanceof Error ? error.message : String(error) };
}

async function carryOut(
  request: string,
  fields: JsonObject,
  allowed: readonly string[],
  services: Services,
): Promise<unknown> {
  const known = requestNames.find((candidate) => candidate === request);
  if (known === undefined)
    throw new PluginError(
      'Invalid',
      `there is no request "${request.slice(0, 60)}"; there are: ${requestNames.join(', ')}`,
    );
  if (!allowed.includes(known))
    throw new PluginError(
      'Invalid',
      `request ${known} is not declared; add it to "requests" in the plugin's descriptor`,
    );
  switch (known) {
    case 'run':
      return inOrder(await need(services.shell, known).run(read(known, shapes.run, fields)));
    case 'exec': {
      const { command, ...options } = read(known, shapes.exec, fields);
      return inOrder(await need(services.shell, known).exec(command, options));
    }
    case 'putFile': {
      const { path, content, base64, mode } = read(known, shapes.putFile, fields);
      if ((content === undefined) === (base64 === undefined))
        throw new PluginError('Invalid', 'request putFile: give either content or base64');
      return need(services.shell, known).putFile(
        path,
        content ?? Buffer.from(base64 ?? '', 'base64'),
        mode === undefined ? {} : { mode },
      );
    }
    case 'secret':
      return need(services.secret, known)(read(known, shapes.secret, fields).reference);
    case 'claims.take': {
      const { key, candidates } = read(known, shapes['claims.take'], fields);
      return need(services.claims, known).take(key, candidates);
    }
    case 'claims.release':
      return need(services.claims, known).release(read(known, shapes['claims.release'], fields).key);
    case 'claims.held':
      return need(services.claims, known).held();
    case 'calls.take':
      return services.calls?.take();
  }
}

/** Programs that cannot read JSON rely on this order. */
function inOrder({ exitCode, stdout, stderr, results }: RunOutcome): RunOutcome {
  return { exitCode, stdout, stderr, results };
}

function read<Shape extends z.ZodType>(request: string, shape: Shape, fields: JsonObject): z.output<Shape> {
  const parsed = shape.safeParse(fields);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  );
  throw new PluginError('Invalid', `request ${request}: ${faults.join('; ')}`);
}

function need<Service>(service: Service | undefined, request: string): Service {
  if (service !== undefined) return service;
  throw new PluginError(
    'Invalid',
    `request ${request} cannot be served in this task: shell requests belong to automators, claims to providers`,
  );
}
