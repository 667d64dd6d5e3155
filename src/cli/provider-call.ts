import { isJsonObject, type JsonObject } from '../model/json.js';
import type { Config } from '../config/index.js';
import type { ProviderAccount } from '../model/provider-account.js';
import type { PluginContext, PluginLog } from '../plugins/contract.js';
import { accountTask } from '../plugins/provider-call.js';
import type { RegisteredProvider } from '../plugins/registry.js';
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

/** For a call outside of a worker. `machine`: the machine of the account to use. */
export function contextOf(
  { descriptor }: RegisteredProvider,
  {
    name,
    fields,
    machine,
  }: { readonly name: string; readonly fields: JsonObject; readonly machine?: string },
): PluginContext {
  return {
    fields,
    signal: new AbortController().signal,
    log: silent,
    claims: {
      // The Temporal server keeps the claims; few calls need them.
      take: () => Promise.resolve(machine),
      release: () => Promise.resolve(),
      held: () => Promise.resolve({}),
    },
    task: accountTask({ name, type: descriptor.name, fields }, { title: `test of ${name}` }),
  };
}

const silent: PluginLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
