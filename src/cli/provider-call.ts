import type { JsonObject } from '../model/json.js';
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
import { resolveFields, type ResolvedFields } from '../secrets/resolve-fields.js';

/** Resolves references that the administrator wrote, except in the fields `passed`. */
export function resolveOwnFields(
  environment: Config['environment'],
  written: JsonObject,
  place: string,
  passed: readonly string[] = [],
): Promise<ResolvedFields> {
  const origin = { writtenBy: 'administrator', place, reader: 'this computer' } as const;
  return resolveFields(written, { environment }, origin, passed);
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
  const resolved = await resolveOwnFields(environment, written, place, passedReferences(descriptor));
  // References may name files too.
  refuseProblems(checkFieldFiles(descriptor, resolved.fields, ['fields']));
  return resolved;
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
