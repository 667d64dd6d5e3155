import { readTextFile } from '../read-text.js';
import { declaredVariables } from './bind.js';
import { composeSpec, maxFileBytes, maxSpecDepth } from './compose.js';
import type { VariableDeclaration } from './variable.js';

/**
 * The variables that a spec file declares, with its includes of 1 MiB together; none if it
 * cannot be read. Does not check the spec, nor read the files that fields name.
 */
export function readVariables(fileName: string): Readonly<Record<string, VariableDeclaration>> {
  const read = readTextFile(fileName, maxFileBytes);
  if (!read.ok) return {};
  const composed = composeSpec(read.text, fileName, {
    bytes: maxFileBytes,
    totalBytes: maxFileBytes,
    depth: maxSpecDepth,
    inlines: false,
  });
  return composed.ok ? declaredVariables(composed.value) : {};
}
