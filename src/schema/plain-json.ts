import { types } from 'node:util';
import { isForbiddenKey, type Json, type JsonObject } from '../model/json.js';
import { errorAt, maxProblems, quoteValue, type Path, type Problem } from './problem.js';

export interface PlainJsonLimits {
  /**
   * Approximate maximum size of the value's JSON, in bytes: keys and texts as UTF-8, other
   * values and punctuation as a few bytes each.
   */
  readonly bytes: number;
  readonly depth: number;
}

export type PlainJson =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Copies a value of unknown origin into plain JSON, or reports everything that is not JSON. Reads
 * only own data properties and calls no code of the value: no getter, no toJSON, no proxy trap.
 * Omits properties whose value is undefined, as JSON does. Stops at the first exceeded limit.
 */
export function copyPlainJson(value: unknown, limits: PlainJsonLimits): PlainJson {
  const copier = new Copier(limits);
  const copy = copier.copy(value, []);
  return copier.problems.length === 0 && copy !== undefined
    ? { ok: true, value: copy }
    : { ok: false, problems: copier.problems };
}

export function isPlainObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A limit is exceeded, so reading stops. */
class LimitReached extends Error {}

class Copier {
  readonly problems: Problem[] = [];
  private readonly limits: PlainJsonLimits;
  private readonly open = new Set<object>();
  private left: number;

  constructor(limits: PlainJsonLimits) {
    this.limits = limits;
    this.left = limits.bytes;
  }

  copy(value: unknown, path: Path): Json | undefined {
    try {
      return this.copyValue(value, path);
    } catch (error) {
      if (error instanceof LimitReached) return undefined;
      throw error;
    }
  }

  private copyValue(value: unknown, path: Path): Json | undefined {
    if (value === null || typeof value === 'boolean') return this.spend(5, path, value);
    if (typeof value === 'string') return this.copyText(value, path);
    if (typeof value === 'number' && Number.isFinite(value)) return this.spend(4, path, value);
    if (typeof value !== 'object') return this.refuse(path, `is ${describe(value)}, which is not JSON`);
    if (types.isProxy(value)) return this.refuse(path, 'is a Proxy, which is not JSON');
    if (this.open.has(value)) return this.refuse(path, 'contains itself');
    if (path.length >= this.limits.depth)
      this.stop(path.slice(0, 4), `is nested deeper than ${this.limits.depth} levels`);
    this.open.add(value);
    const copy = Array.isArray(value) ? this.copyArray(value, path) : this.copyObject(value, path);
    this.open.delete(value);
    return copy;
  }

  private copyArray(value: readonly unknown[], path: Path): Json | undefined {
    // Counted before iteration: a sparse array can be very long.
    this.spend(value.length + 2, path, null);
    return Array.from({ length: value.length }, (_, index) => {
      const item = Object.getOwnPropertyDescriptor(value, index);
      return this.copyProperty(item, [...path, index]) ?? null;
    });
  }

  private copyObject(value: object, path: Path): Json | undefined {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && prototype !== Object.prototype)
      return this.refuse(path, `is ${describe(value)}, which is not plain JSON`);
    const entries: [string, Json][] = [];
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
      if (property.enumerable !== true || ('value' in property && property.value === undefined)) continue;
      if (isForbiddenKey(key)) {
        this.refuse([...path, key], 'is a forbidden key', 'Rename it.');
        continue;
      }
      this.copyText(key, [...path, key]);
      const copy = this.copyProperty(property, [...path, key]);
      if (copy !== undefined) entries.push([key, copy]);
    }
    return Object.fromEntries(entries);
  }

  private copyProperty(property: PropertyDescriptor | undefined, path: Path): Json | undefined {
    if (property !== undefined && !('value' in property))
      return this.refuse(path, 'is a getter, not a value');
    const value: unknown = property?.value;
    return this.copyValue(value, path);
  }

  private copyText(text: string, path: Path): string | undefined {
    this.spend(2 + Buffer.byteLength(text), path, null);
    if (/\p{Surrogate}/u.test(text))
      this.refuse(
        path,
        `contains an unpaired surrogate: ${quoteValue(text)}`,
        'Use well-formed Unicode text.',
      );
    return text;
  }

  private spend<Value>(bytes: number, path: Path, value: Value): Value {
    this.left -= bytes;
    if (this.left < 0) this.stop(path.slice(0, 4), `exceeds the limit of ${this.limits.bytes} bytes as JSON`);
    return value;
  }

  private refuse(path: Path, wrong: string, right?: string): undefined {
    this.problems.push(errorAt(path, wrong, right));
    if (this.problems.length >= maxProblems) throw new LimitReached();
    return undefined;
  }

  private stop(path: Path, wrong: string): never {
    this.problems.push(errorAt(path, wrong));
    throw new LimitReached();
  }
}

function describe(value: unknown): string {
  if (value === undefined) return 'undefined';
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  if (types.isDate(value)) return 'a Date';
  if (types.isMap(value)) return 'a Map';
  if (types.isSet(value)) return 'a Set';
  if (types.isPromise(value)) return 'a Promise (is an await missing?)';
  if (ArrayBuffer.isView(value)) return 'a Buffer or typed array';
  return 'an object of a class';
}
