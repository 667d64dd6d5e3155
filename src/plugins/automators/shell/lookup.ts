import { isJsonObject } from '../../../model/json.js';
import type { Json } from '../../contract.js';

/**
 * The look-up, for scripts that have no JSON parser: prints the value of a path such as `cluster/port`; of a
 * list its items and of a mapping its keys, a line each. A second word is what it prints where there is none.
 */
export const lookupProgram = `#!/bin/sh
tab=$(printf '\\t')
while IFS= read -r line; do
  case $line in "$1$tab"*) printf '%b\\n' "\${line#*"$tab"}"; exit 0 ;; esac
done < "\${0%/*}/facts"
if [ "$#" -gt 1 ]; then printf '%s\\n' "$2"; exit 0; fi
echo "heddle-get: there is no $1" >&2
exit 1
`;

/**
 * Every path of a value with what stands there, a line each; line breaks and tabs in values are escaped for
 * printf's %b.
 */
export function factLines(value: Json, path = ''): string {
  const below = path === '' ? '' : `${path}/`;
  const entries: readonly (readonly [string, Json])[] = Array.isArray(value)
    ? value.map((item, index): readonly [string, Json] => [String(index), item])
    : isJsonObject(value)
      ? Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, item] as const]))
      : [];
  const own = path === '' ? '' : `${escape(path)}\t${escape(textOf(value))}\n`;
  return own + entries.map(([key, item]) => factLines(item, below + key)).join('');
}

function textOf(value: Json): string {
  if (Array.isArray(value))
    return value
      .map((item: Json) => (typeof item === 'object' && item !== null ? JSON.stringify(item) : textOf(item)))
      .join('\n');
  if (isJsonObject(value)) return Object.keys(value).join('\n');
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}
