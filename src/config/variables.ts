import type { Environment } from './temporal.js';

const prefix = 'HEDDLE_VAR_';

/** Values of variables of cluster files, by their names: HEDDLE_VAR_x is the value of x. */
export function variablesFromEnvironment(env: Environment = process.env): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      name.startsWith(prefix) && value !== undefined ? [[name.slice(prefix.length), value]] : [],
    ),
  );
}
