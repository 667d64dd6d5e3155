import { z } from 'zod';
import type { JsonObject } from '../../model/json.js';
import type { Calls, Claims, CreateRecord, ImageInput, RunOutcome, Shell, SystemInput } from '../contract.js';
import { isPluginError, PluginError } from '../errors.js';
import {
  limits,
  requestNames,
  type ErrorMessage,
  type ReplyMessage,
  type RequestMessage,
  type RequestName,
} from './protocol.js';

/** The engine's services for a program's requests; a task has only some of them. */
export interface Services {
  readonly shell?: Shell;
  readonly claims?: Claims;
  readonly calls?: Calls;
  readonly record?: CreateRecord;
  /** Resolves a secret reference that occurs in the program's task. */
  readonly secret?: (reference: string) => Promise<string>;
  /** From the input of the called ability. */
  readonly progress?: ImageInput['progress'];
  readonly resetNode?: SystemInput['resetNode'];
}

/** Serves one request of a program. Never throws: a failure is returned as the reply. */
export async function serveRequest(
  { id, request, ...fields }: RequestMessage,
  allowed: readonly string[],
  services: Services,
): Promise<ReplyMessage> {
  try {
    const name = requestNames.find((known) => known === request);
    if (name === undefined)
      throw invalid(
        `request "${request.slice(0, 60)}" is unknown; known requests: ${requestNames.join(', ')}`,
      );
    if (!allowed.includes(name))
      throw invalid(`request ${name} is not declared; add it to "requests" in the plugin's descriptor`);
    return { id, result: (await requests[name](name, fields, services)) ?? null };
  } catch (error) {
    return { id, error: errorMessage(error) };
  }
}

export function tooManyRequests({ id }: RequestMessage): ReplyMessage {
  const wrong = `more than ${limits.requests} concurrent requests; wait for answers before sending more`;
  return { id, error: errorMessage(invalid(wrong)) };
}

type Serve = (name: RequestName, fields: JsonObject, services: Services) => Promise<unknown>;

/** A request for one service of the engine. */
function request<Service extends keyof Services, Shape extends z.ZodType>(
  service: Service,
  shape: Shape,
  serve: (engine: NonNullable<Services[Service]>, fields: z.output<Shape>) => Promise<unknown>,
): Serve {
  return async (name, given, services) => {
    const engine = services[service];
    if (engine === undefined)
      throw invalid(
        `request ${name} cannot be served in this task: shell requests belong to automators, claims to providers, record to CREATE, progress and resetNode to abilities whose input has them`,
      );
    const parsed = shape.safeParse(given);
    if (parsed.success) return serve(engine, parsed.data);
    const faults = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '));
    throw invalid(`request ${name}: ${faults.join('; ')}`);
  };
}

const name = z.string().min(1).max(512);
const milliseconds = z.int().min(1).max(86_400_000);
const words = z.array(z.string()).min(1).max(10_000);

const run = z.strictObject({
  text: z.string(),
  name: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .exactOptional(),
  stdin: z.string().exactOptional(),
  environment: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string()).exactOptional(),
  interpreter: words.exactOptional(),
  arguments: z.array(z.string()).max(10_000).exactOptional(),
  files: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(64),
        content: z.string(),
        variable: z
          .string()
          .regex(/^[A-Za-z_]\w*$/)
          .exactOptional(),
        executable: z.boolean().exactOptional(),
      }),
    )
    .max(1_000)
    .exactOptional(),
  sudo: z.boolean().exactOptional(),
  timeoutMs: milliseconds.exactOptional(),
});
const exec = z.strictObject({
  command: words,
  stdin: z.string().exactOptional(),
  timeoutMs: milliseconds.exactOptional(),
});
const putFile = z.strictObject({
  path: z.string().min(1).max(4_096),
  content: z.string().exactOptional(),
  base64: z.base64().exactOptional(),
  mode: z.int().min(0).max(0o7777).exactOptional(),
});
const nothing = z.strictObject({});

const requests: Readonly<Record<RequestName, Serve>> = {
  run: request('shell', run, async (shell, script) => inOrder(await shell.run(script))),
  exec: request('shell', exec, async (shell, { command, ...options }) =>
    inOrder(await shell.exec(command, options)),
  ),
  putFile: request('shell', putFile, (shell, { path, content, base64, mode }) => {
    if ((content === undefined) === (base64 === undefined))
      throw invalid('request putFile requires either content or base64');
    return shell.putFile(path, content ?? Buffer.from(base64 ?? '', 'base64'), { mode });
  }),
  secret: request('secret', z.strictObject({ reference: name }), (resolve, { reference }) =>
    resolve(reference),
  ),
  'claims.take': request(
    'claims',
    z.strictObject({ key: name, candidates: z.array(name).max(10_000) }),
    (claims, { key, candidates }) => claims.take(key, candidates),
  ),
  'claims.release': request('claims', z.strictObject({ key: name }), (claims, { key }) =>
    claims.release(key),
  ),
  'claims.held': request('claims', nothing, (claims) => claims.held()),
  // Accounts without a rate limit do not have this service.
  'calls.take': async (_name, _fields, { calls }) => calls?.take(),
  'record.read': request('record', nothing, (record) => record.read()),
  'record.write': request(
    'record',
    z.strictObject({ made: z.record(z.string(), z.json()) }),
    (record, { made }) => record.write(made),
  ),
  progress: request('progress', z.strictObject({ text: name }), async (progress, { text }) => progress(text)),
  resetNode: request('resetNode', nothing, (resetNode) => resetNode()),
};

/** Programs without a JSON parser rely on this order. */
function inOrder({ exitCode, stdout, stderr, results }: RunOutcome): RunOutcome {
  return { exitCode, stdout, stderr, results };
}

function errorMessage(error: unknown): ErrorMessage {
  if (!isPluginError(error))
    return { kind: 'Internal', message: error instanceof Error ? error.message : String(error) };
  const { kind, message, retryAfterMs, exitCode, remedy, stdout, stderr } = error;
  return { kind, message, retryAfterMs, exitCode, remedy, stdout, stderr };
}

function invalid(wrong: string): PluginError {
  return new PluginError('Invalid', wrong);
}
