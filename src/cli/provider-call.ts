import { isJsonObject, type JsonObject } from '../model/json.js';
import { anySignal } from '../model/signals.js';
import type { Config } from '../config/index.js';
import type { ProviderAccount } from '../model/provider-account.js';
import type { Claims, PluginContext, PluginLog } from '../plugins/contract.js';
import { isPluginError, PluginError } from '../plugins/errors.js';
import type { ProviderWithAbilities, RegisteredProvider } from '../plugins/registry.js';
import type { Descriptor } from '../schema/descriptor.js';
import { checkFieldFiles } from '../schema/field-files.js';
import { checkFields, checkResolved } from '../schema/fields.js';
import { passedReferences } from '../schema/references.js';
import { hasErrors, ProblemsError, type Problem } from '../schema/problem.js';
import { resolveSecrets } from '../secrets/reference.js';

export interface ResolvedFields {
  readonly fields: JsonObject;
  readonly secrets: readonly string[];
}

/** Resolves references that the administrator wrote. */
export async function resolveFields(
  environment: Config['environment'],
  written: JsonObject,
  place: string,
): Promise<ResolvedFields> {
  const { value, secrets } = await resolveSecrets(
    written,
    { environment },
    { writtenBy: 'administrator', place },
  );
  return { fields: isJsonObject(value) ? value : {}, secrets };
}

/**
 * The same for fields of a provider: references that its plugin passes on stay references.
 * @throws ProblemsError for files of other users.
 */
export async function resolveProviderFields(
  environment: Config['environment'],
  descriptor: Descriptor,
  written: JsonObject,
  place: string,
): Promise<ResolvedFields> {
  const passed = passedReferences(descriptor);
  const split = (isPassed: boolean): JsonObject =>
    Object.fromEntries(Object.entries(written).filter(([key]) => passed.includes(key) === isPassed));
  const resolved = await resolveFields(environment, split(false), place);
  const fields = { ...resolved.fields, ...split(true) };
  // References may name files too.
  refuseProblems(checkFieldFiles(descriptor, fields, ['fields']));
  return { ...resolved, fields };
}

/** A provider's call ends at the deadline of its descriptor, as everywhere. @throws PluginError Retryable */
export async function callInTime<Answer>(
  { create, descriptor: { callDeadlineMs } }: RegisteredProvider,
  context: PluginContext,
  call: (provider: ProviderWithAbilities) => Promise<Answer>,
): Promise<Answer> {
  const deadline = AbortSignal.timeout(callDeadlineMs);
  try {
    return await call(create({ ...context, signal: anySignal([context.signal, deadline]) }));
  } catch (error) {
    if (!deadline.aborted || isPluginError(error)) throw error;
    throw new PluginError('Retryable', `the provider did not answer within ${callDeadlineMs} ms`, {
      cause: error,
    });
  }
}

/** Checked, with defaults, secrets resolved, as a worker does. @throws ProblemsError, PluginError Auth */
export async function openFields(
  { descriptor }: RegisteredProvider,
  { fields: written }: ProviderAccount,
  environment: Config['environment'],
): Promise<ResolvedFields> {
  const { values, problems } = checkFields(descriptor, 'admin', written, ['fields']);
  refuseProblems(problems);
  const resolved = await resolveProviderFields(environment, descriptor, values, 'fields');
  refuseProblems(checkResolved(descriptor, ['admin'], resolved.fields, ['fields']));
  return resolved;
}

/** @throws ProblemsError */
export function refuseProblems(problems: readonly Problem[]): void {
  if (hasErrors(problems)) throw new ProblemsError('These fields cannot be used:', problems);
}

/** For a call outside of a worker. `claims`: the machine of the account to use. */
export function contextOf(
  { descriptor }: RegisteredProvider,
  {
    name,
    fields,
    claims = noClaims,
  }: { readonly name: string; readonly fields: JsonObject; readonly claims?: Claims },
): PluginContext {
  return {
    fields,
    signal: new AbortController().signal,
    log: silent,
    claims,
    task: {
      // CONFIRM is the read-only action.
      taskId: `-/-/CONFIRM/test of ${name}`,
      taskName: 'CONFIRM',
      clusterId: '-',
      clusterUid: '-',
      nodeId: '-',
      incarnation: 0,
      attempt: 1,
      config: {},
      nodes: {},
      cluster: {},
      provider: { name, type: descriptor.name, fields },
    },
  };
}

const silent: PluginLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The Temporal server keeps the claims; few calls need them. */
const noClaims: Claims = {
  take: () => Promise.resolve(undefined),
  release: () => Promise.resolve(),
  held: () => Promise.resolve({}),
};
