import { normalize } from 'node:path';
import type { AllowReference } from './reference.js';

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
