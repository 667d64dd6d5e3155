import { variablesIn } from '../expression/parse.js';
import type { Json } from '../json.js';
import type { ClusterSpec } from './spec.js';

/** A value that is put in when a task is created. */
export interface TaskVariable {
  readonly value: Json;
  /** It is not shown. */
  readonly secret?: true;
  /** The value comes from another cluster: data, in which references have no meaning. */
  readonly imported?: true;
}
export type TaskVariables = Readonly<Record<string, TaskVariable>>;

/** The variables of a spec, with the values that outputs of other clusters had when it was planned. */
export function taskVariables(spec: ClusterSpec | undefined, imports: TaskVariables = {}): TaskVariables {
  const own = Object.entries(spec?.variables ?? {}).flatMap(([name, variable]) =>
    'value' in variable ? [[name, { value: variable.value, secret: variable.secret }] as const] : [],
  );
  return { ...imports, ...Object.fromEntries(own) };
}

/** Those variables that expressions in a value refer to; undefined if there are none. */
export function usedVariables(value: Json, variables: TaskVariables): TaskVariables | undefined {
  const used = variablesIn(value).flatMap((name) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return variable === undefined ? [] : [[name, variable] as const];
  });
  return used.length === 0 ? undefined : Object.fromEntries(used);
}

/** The variables of a spec that other clusters give values to, by the clusters' names. */
export function importsOf(
  spec: ClusterSpec | undefined,
): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const sources: Record<string, Record<string, string>> = {};
  for (const [name, variable] of Object.entries(spec?.variables ?? {})) {
    if (!('from' in variable)) continue;
    const cluster = variable.from.slice('cluster/'.length);
    (sources[cluster] ??= {})[name] = variable.output;
  }
  return sources;
}
