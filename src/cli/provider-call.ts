import { isJsonObject, type JsonObject } from '../model/json.js';
import { anySignal } from '../model/signals.js';
import type { Config } from '../config/index.js';
import type { PluginContext } from '../plugins/contract.js';
import { isPluginError, PluginError } from '../plugins/errors.js';
import type { ProviderWithAbilities, RegisteredProvider } from '../plugins/registry.js';
import type { Descriptor } from '../schema/descriptor.js';
import { passedReferences } from '../schema/fields.js';
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

/** The same for fields of a provider: references that its plugin passes on stay references. */
export async function resolveProviderFields(
  environment: Config['environment'],
  descriptor: Descriptor,
  written: JsonObject,
  place: string,
): Promise<ResolvedFields> {
  const passed = passedReferences(descriptor);
  const split = (isPassed: boolean): JsonObject =>
    Object.fromEntries(Object.entries(written).filter(([key]) => passed.includes(key) === isPassed));
  const { fields, secrets } = await resolveFields(environment, split(false), place);
  return { fields: { ...fields, ...split(true) }, secrets };
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
