import type { JsonObject } from '../json.js';
import type { ServiceSpec } from './spec.js';

/** The part of the cluster's configuration that a service reads: the keys it names, or all of it. */
export function usedConfig<Config extends JsonObject>(config: Config, uses: ServiceSpec['uses']): JsonObject {
  if (uses === undefined) return config;
  return Object.fromEntries(
    uses.config.flatMap((key) => {
      const value = Object.hasOwn(config, key) ? config[key] : undefined;
      return value === undefined ? [] : [[key, value] as const];
    }),
  );
}
