import { normalize } from 'node:path';
import { isJsonObject, type Json } from '../model/json.js';
import { isSecretReference } from './reference.js';

/** Whether a reference such as `file:/etc/app/token` may stand in what users write. */
export type AllowReference = (reference: string) => boolean;

/** Patterns such as `env:APP_*` or `file:/etc/app/*`; `*` stands for any text. Without patterns everything may. */
export function allowReferences(patterns: readonly string[] | undefined): AllowReference {
  if (patterns === undefined) return () => true;
  const expressions = patterns.map((pattern) => new RegExp(`^${pattern.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, String.raw`\$&`)).join('.*')}$`, 's'));
  return (reference) => isPlain(reference) && expressions.some((expression) => expression.test(reference));
}

/** A path that goes up is another than it seems. */
function isPlain(reference: string): boolean {
  if (!reference.startsWith('file:')) return true;
  const path = reference.slice('file:'.length);
  return normalize(path) === path;
}

/** Places of references in a value that may not stand there. */
export function forbiddenReferences(value: Json, allows: AllowReference, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (isSecretReference(value)) return allows(value.secret) ? [] : [path];
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => forbiddenReferences(item, allows, [...path, index]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => forbiddenReferences(item, allows, [...path, key]));
}
