import { isJsonObject, type JsonObject } from '../model/json.js';
import { loadRegistry, type RegisteredProvider } from '../plugins/registry.js';
import { checkFields } from '../schema/fields.js';
import { passedReferences } from '../schema/references.js';
import { formatProblem, hasErrors } from '../schema/problem.js';
import { resolveSecrets } from '../secrets/reference.js';
import { ProviderBench, type WrittenFields } from './provider-bench.js';
import type { ProviderBenchOptions } from './provider-options.js';
import { openProxy } from './proxy.js';

/** Loads the plugin as a worker does, and opens the account. */
export async function openProviderBench(
  options: ProviderBenchOptions,
): Promise<{ readonly bench: ProviderBench; readonly close: () => Promise<void> }> {
  const registry = await loadRegistry({ folders: options.folders ?? [], log: { info: () => undefined } });
  const closers = [() => registry.close()];
  const close = async (): Promise<void> => {
    for (const end of closers.toReversed()) await end();
  };
  try {
    const plugin = registry.provider(options.name);
    const account = await options.open();
    if (account.close !== undefined) closers.push(account.close);
    const { endpoint } = options;
    const proxy = endpoint === undefined ? undefined : await openProxy(textAt(account.admin, endpoint));
    if (proxy !== undefined) closers.push(() => proxy.close());
    const redirected = endpoint === undefined || proxy === undefined ? {} : { [endpoint]: proxy.endpoint };
    const written = { admin: { ...account.admin, ...redirected }, user: account.user ?? {} };
    const { fields, secrets } = await readFields(plugin, written);
    const bench = new ProviderBench({ plugin, options, account, proxy, written, fields, secrets });
    return { bench, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Checks the fields, fills in defaults and resolves secrets, as the engine does. */
async function readFields(
  { descriptor }: RegisteredProvider,
  written: WrittenFields,
): Promise<{ readonly fields: JsonObject; readonly secrets: readonly string[] }> {
  const admin = checkFields(descriptor, 'admin', written.admin, ['admin']);
  const user = checkFields(descriptor, 'user', written.user, ['user']);
  const problems = [...admin.problems, ...user.problems];
  if (hasErrors(problems))
    throw new Error(`the fields of the suite's account are wrong: ${problems.map(formatProblem).join('; ')}`);
  const all: JsonObject = { ...admin.values, ...user.values };
  const passed = passedReferences(descriptor);
  const select = (isPassed: boolean): JsonObject =>
    Object.fromEntries(Object.entries(all).filter(([key]) => passed.includes(key) === isPassed));
  const { value, secrets } = await resolveSecrets(
    select(false),
    { environment: {} },
    { writtenBy: 'administrator', place: 'fields' },
  );
  const declared = Object.entries({ ...descriptor.fields?.admin, ...descriptor.fields?.user });
  const plain = declared.flatMap(([key, field]) =>
    field.secret === true && typeof all[key] === 'string' ? [all[key]] : [],
  );
  return {
    fields: { ...(isJsonObject(value) ? value : {}), ...select(true) },
    secrets: [...secrets, ...plain],
  };
}

function textAt(fields: JsonObject, key: string): string {
  const value = fields[key];
  if (typeof value === 'string') return value;
  throw new Error(`endpoint names the field ${key}, but the account's admin fields have no text there`);
}
