import { ExpressionError, fillText } from '../../model/expression/fill.js';
import { evaluate } from '../../model/expression/evaluate.js';
import {
  escapeText,
  isBroken,
  isExpression,
  mayHoldExpressions,
  splitText,
} from '../../model/expression/parse.js';
import type { Expression } from '../../model/expression/parse.js';
import type { Json, JsonObject } from '../../model/json.js';
import { stableJson } from '../../model/node/payload.js';
import { isPlainObject } from '../plain-json.js';
import { errorAt, errorIn, quoteValue, type Path, type Problem } from '../problem.js';
import { isValidReference } from '../references.js';
import { suggest } from '../suggest.js';
import { brokenExpression, isBoundLate, unknownRoot } from './expressions.js';
import { isValueName, variableSchema, type VariableDeclaration } from './variable.js';
import { ruleOf } from './import-value.js';
import { isOfType, typeWords } from './variable-type.js';

/** A value of a variable, and its source: `--var`, a file or an environment variable. */
export interface GivenValue {
  readonly value: Json;
  readonly by: string;
}
export type GivenValues = Readonly<Record<string, GivenValue>>;

interface Bound {
  readonly value: Json;
  readonly problems: readonly Problem[];
}

/** The variables that a spec declares. Omits malformed declarations, which the schema reports. */
export function declaredVariables(spec: Json): Readonly<Record<string, VariableDeclaration>> {
  const declared = isPlainObject(spec) ? spec['variables'] : undefined;
  if (!isPlainObject(declared)) return {};
  return Object.fromEntries(
    Object.entries(declared).flatMap(([name, written]) => {
      if (!isValueName(name)) return [];
      const parsed = variableSchema.safeParse(written ?? {});
      return parsed.success ? [[name, parsed.data] as const] : [];
    }),
  );
}

/**
 * Replaces variables in a spec by their values. Secret variables and those of other clusters remain under
 * `variables`, and expressions with them remain unchanged: their values are resolved when a task is created.
 */
export function bindVariables(spec: Json, given: GivenValues): Bound {
  if (!isPlainObject(spec)) return { value: spec, problems: [] };
  const declared = declaredVariables(spec);
  const problems: Problem[] = [];
  const values: Record<string, Json> = {};
  for (const [name, variable] of Object.entries(declared)) {
    const chosen = choose(name, variable, Object.hasOwn(given, name) ? given[name] : undefined);
    if ('wrong' in chosen) problems.push(chosen);
    else if (chosen.value !== undefined) values[name] = chosen.value;
  }
  problems.push(...undeclared(declared, given));
  const { variables, $schema, ...rest } = spec;
  const context: Context = { declared, values, known: isPlainObject(variables) ? variables : {}, problems };
  const filled = fill(rest, [], context) as JsonObject;
  const late = lateVariables(isPlainObject(variables) ? variables : undefined, declared, values);
  return {
    value: {
      ...filled,
      ...($schema === undefined ? {} : { $schema }),
      ...(variables !== undefined && !isPlainObject(variables) ? { variables } : late),
    },
    problems,
  };
}

const unset = 'has no value';

/** Whether the problem is that a variable has no value. */
export function isUnset({ path, wrong }: Problem): boolean {
  return wrong === unset && path.length === 2 && path[0] === 'variables';
}

/** The value of a variable, or the problem with it. */
function choose(
  name: string,
  { from, secret, type, allowed, default: fallback, value: kept, description }: VariableDeclaration,
  given: GivenValue | undefined,
): { readonly value: Json | undefined } | Problem {
  const path: Path = ['variables', name];
  if (from !== undefined)
    return given === undefined
      ? { value: undefined }
      : errorAt(path, `is set by ${given.by}, but takes its value from ${from}`, 'Remove one of them.');
  if (secret === true && fallback !== undefined && !isValidReference(fallback))
    return errorAt(
      [...path, 'default'],
      'would store the secret in the file',
      'Set a reference, such as {secret: "env:NAME"}, or remove it.',
    );
  const value = given === undefined ? (kept ?? fallback) : given.value;
  if (value === undefined)
    return errorAt(
      path,
      unset,
      `Set it with --var ${name}=VALUE, --var-file FILE or HEDDLE_VAR_${name}${description === undefined ? '' : ` (${description.replace(/\.$/, '')})`}.`,
    );
  const by = given === undefined ? '' : ` (by ${given.by})`;
  const shown = secret === true ? 'its value' : quoteValue(value);
  if (!isOfType(value, type) && !(secret === true && isValidReference(value)))
    return errorAt(path, `${shown}${by} is not ${typeWords[type ?? 'text']}`);
  if (allowed !== undefined && !allowed.some((one) => stableJson(one) === stableJson(value)))
    return errorAt(
      path,
      `${shown}${by} is not allowed`,
      secret === true ? undefined : `Allowed values: ${allowed.map(quoteValue).join(', ')}.`,
    );
  return { value };
}

function undeclared(
  declared: Readonly<Record<string, VariableDeclaration>>,
  given: GivenValues,
): readonly Problem[] {
  return Object.entries(given)
    .filter(([name]) => !Object.hasOwn(declared, name))
    .map(([name, { by }]) =>
      errorAt(
        ['variables'],
        `${by} sets ${name}, but the file declares no such variable`,
        suggest(name, Object.keys(declared)) ?? 'Declare it under variables.',
      ),
    );
}

/** `variables` of the bound spec; malformed declarations remain unchanged. */
function lateVariables(
  written: JsonObject | undefined,
  declared: Readonly<Record<string, VariableDeclaration>>,
  values: Readonly<Record<string, Json>>,
): { readonly variables?: JsonObject } {
  const late = Object.entries(written ?? {}).flatMap(([name, raw]): readonly (readonly [string, Json])[] => {
    const variable = Object.hasOwn(declared, name) ? declared[name] : undefined;
    if (variable === undefined) return [[name, raw]];
    const { from, output, secret } = variable;
    if (from !== undefined) return [[name, { from, output: output ?? name, ...ruleOf(variable) }]];
    const value = values[name];
    return secret === true && value !== undefined ? [[name, { secret: true, value }]] : [];
  });
  return late.length === 0 ? {} : { variables: Object.fromEntries(late) };
}

interface Context {
  readonly declared: Readonly<Record<string, VariableDeclaration>>;
  readonly values: Readonly<Record<string, Json>>;
  /** Everything under `variables`, including malformed declarations. */
  readonly known: JsonObject;
  readonly problems: Problem[];
}

function fill(value: Json, path: Path, context: Context): Json {
  if (typeof value === 'string') return mayHoldExpressions(value) ? fillIn(value, path, context) : value;
  if (Array.isArray(value)) return value.map((item: Json, index) => fill(item, [...path, index], context));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, fill(item, [...path, key], context)]),
  );
}

function fillIn(text: string, path: Path, context: Context): Json {
  const isLate = isBoundLate(path);
  const say = (problem: Problem): undefined => {
    context.problems.push(problem);
  };
  for (const part of splitText(text)) {
    if (isBroken(part)) say(brokenExpression(path, part));
    else if (isExpression(part)) {
      const problem = refuse(part, path, context, isLate);
      if (problem !== undefined) say(problem);
    }
  }
  const valueOf = (expression: Expression): Json | undefined => {
    const [root, name = ''] = expression.words;
    if (root !== 'var' || !Object.hasOwn(context.values, name) || context.declared[name]?.secret === true)
      return undefined;
    try {
      return evaluate(expression, { variables: context.values, nodes: {} });
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      return say(errorIn(path, expression.written, `has no value: ${error.message}`));
    }
  };
  return fillText(text, valueOf, isLate ? escapeText : (literal) => literal);
}

/** The problem with an expression at its place, if any. */
function refuse(
  { written, words }: Expression,
  path: Path,
  { declared, known }: Context,
  isLate: boolean,
): Problem | undefined {
  const [root = '', name] = words;
  if (root === 'var') {
    if (name === undefined) return errorIn(path, written, 'does not name a variable', 'Write var.NAME.');
    if (!Object.hasOwn(known, name))
      return errorIn(
        path,
        written,
        `refers to a variable that is not declared`,
        suggest(name, Object.keys(known)) ?? 'Declare it under variables.',
      );
    const { secret, from }: Partial<VariableDeclaration> = Object.hasOwn(declared, name)
      ? (declared[name] ?? {})
      : {};
    if (isLate || (secret !== true && from === undefined)) return undefined;
    const what = secret === true ? 'a secret variable' : 'a value of another cluster';
    return errorIn(path, written, `is ${what}, which is allowed only in fields of actions and in outputs`);
  }
  const unknown = unknownRoot(path, { written, words });
  if (unknown !== undefined || isLate) return unknown;
  return errorIn(path, written, 'refers to nodes, which is allowed only in fields of actions and in outputs');
}
