import { isJsonObject, type Json, type JsonObject } from '../json.js';
import { ExpressionError } from './fill.js';
import type { Expression } from './parse.js';
import { isWord, isWordList, wordRule } from './word.js';

/** What expressions can refer to at one place. */
export interface Scope {
  /** Values by the names of variables. */
  readonly variables: Readonly<Record<string, Json>>;
  /** The task's own node; absent outside of tasks. */
  readonly node?: JsonObject;
  /** Nodes of the cluster by their ids. */
  readonly nodes: Readonly<Record<string, KnownNode>>;
}

export interface KnownNode {
  readonly nodenum: number;
  readonly services: readonly string[];
  readonly values: JsonObject;
}

/** The value of an expression. @throws ExpressionError if it has none here. */
export function evaluate({ words, mustBeWord }: Expression, scope: Scope): Json {
  const value = valueOf(words, scope);
  if (mustBeWord !== true || isWord(value) || (isListExpected(words) && isWordList(value))) return value;
  throw new ExpressionError(`it is not a word: ${Array.isArray(value) ? notAWord(words) : wordRule}`);
}

/** The values of a service's nodes, and a variable as a whole, whose type the cluster file declares. */
function isListExpected([root, ...names]: Expression['words']): boolean {
  return root === 'services' || (root === 'var' && names.length === 1);
}

function notAWord(words: Expression['words']): string {
  return isListExpected(words) ? `it must be a list of at least one word (${wordRule})` : 'it is a list';
}

function valueOf([root, name = '', ...keys]: Expression['words'], scope: Scope): Json {
  switch (root) {
    case 'var':
      return below(ownValue(scope.variables, name, `variable ${name} has no value`), keys, `var.${name}`);
    case 'node':
      if (scope.node === undefined) throw new ExpressionError('node is available only in tasks');
      return below(scope.node, [name, ...keys], 'node');
    case 'nodes':
      return below(nodeNamed(scope, name).values, keys, `nodes.${name}`);
    case 'services':
      return nodesOf(scope, name).map(([id, { values }]) => below(values, keys, `nodes.${id}`));
    default:
      throw new ExpressionError(`${root ?? ''} is unknown`);
  }
}

function nodeNamed({ nodes }: Scope, id: string): KnownNode {
  const node = Object.hasOwn(nodes, id) ? nodes[id] : undefined;
  if (node === undefined) throw new ExpressionError(`node ${id} does not exist at present`);
  return node;
}

/** By their numbers, so that texts stay the same while nodes do. */
function nodesOf({ nodes }: Scope, service: string): readonly (readonly [string, KnownNode])[] {
  const found = Object.entries(nodes).filter(([, { services }]) => services.includes(service));
  if (found.length === 0) throw new ExpressionError(`no node has service ${service} at present`);
  return found.toSorted(([, one], [, other]) => one.nodenum - other.nodenum);
}

function below(value: Json, keys: readonly string[], name: string): Json {
  if (keys.length === 0) return value;
  if (!isJsonObject(value))
    throw new ExpressionError(`${name} is not a mapping, so it has no ${keys.join('.')}`);
  // Keys of results may contain dots.
  for (const length of keys.keys()) {
    const key = keys.slice(0, length + 1).join('.');
    if (Object.hasOwn(value, key)) return below(value[key] ?? null, keys.slice(length + 1), `${name}.${key}`);
  }
  throw new ExpressionError(`${name} has no ${keys.join('.')}`);
}

function ownValue(object: JsonObject, key: string, wrong: string): Json {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  if (value === undefined) throw new ExpressionError(wrong);
  return value;
}
