import type { JsonObject } from '../model/json.js';
import { createRedactor } from '../secrets/redact.js';
import { ProviderBench } from './provider-bench.js';
import type { ProviderBenchOptions } from './provider-options.js';
import { openProxy } from './proxy.js';
import { readFields } from './read-fields.js';
import type { SuiteOptions } from './runner.js';
import { loadPlugins, noSurroundings, type Surroundings } from './surroundings.js';

/** Loads the plugin as a worker does, and opens the account. */
export async function openProviderBench(
  options: ProviderBenchOptions,
  surroundings: Surroundings = noSurroundings,
): ReturnType<SuiteOptions<never, ProviderBench>['open']> {
  const registry = await loadPlugins(options.folders, surroundings);
  let close = (): Promise<void> => registry.close();
  const closeFirst = (end: () => Promise<void>): void => {
    const others = close;
    close = () => end().finally(others);
  };
  try {
    const plugin = registry.provider(options.name);
    const account = await options.open();
    if (account.close !== undefined) closeFirst(account.close);
    const { endpoint } = options;
    const proxy = endpoint === undefined ? undefined : await openProxy(textAt(account.admin, endpoint));
    if (proxy !== undefined) closeFirst(() => proxy.close());
    const redirected = endpoint === undefined || proxy === undefined ? {} : { [endpoint]: proxy.endpoint };
    const written = { admin: { ...account.admin, ...redirected }, user: account.user ?? {} };
    const { fields, secrets } = await readFields(plugin.descriptor, written, surroundings);
    const silent =
      account.silent === undefined
        ? undefined
        : await readFields(
            plugin.descriptor,
            { ...written, admin: { ...written.admin, ...account.silent } },
            surroundings,
          );
    const known = [...secrets, ...(silent?.secrets ?? [])];
    const bench = new ProviderBench({
      plugin,
      options,
      account,
      surroundings,
      proxy,
      written,
      fields,
      silent: silent?.fields,
      secrets: known,
    });
    return { bench, redact: (text) => createRedactor(known).redact(text), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function textAt(fields: JsonObject, key: string): string {
  const value = fields[key];
  if (typeof value === 'string') return value;
  throw new Error(`endpoint names the field ${key}, but the account's admin fields have no text there`);
}
