import type { SpecChange } from '../../schema/output/plan.js';
import { withoutUserInfo } from '../endpoint.js';
import { isJsonObject, type Json, type JsonObject } from '../json.js';
import { stableJson } from '../node/payload.js';
import { stripSecrets } from '../node/strip-secrets.js';
import { diffLines } from './line-diff.js';
import type { ClusterSpec } from './spec.js';

const masked = '(secret)';

/** What changed from one spec to the next, for people: texts line by line, secrets masked. */
export function specChanges(before: ClusterSpec, after: ClusterSpec): readonly SpecChange[] {
  return changesIn([], before as unknown as JsonObject, after as unknown as JsonObject);
}

function changesIn(path: readonly string[], before: JsonObject, after: JsonObject): readonly SpecChange[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => {
    const [old, now] = [valueOf(before, key), valueOf(after, key)];
    if (isSame(old, now)) return [];
    const place = [...path, key];
    if (isJsonObject(old) && isJsonObject(now) && !isReference(old) && !isReference(now))
      return changesIn(place, old, now);
    const lines = diffLines(linesOf(key, old), linesOf(key, now));
    const shown =
      lines.length > 0
        ? lines
        : ([
            { sign: '-', text: masked },
            { sign: '+', text: `${masked}, another` },
          ] as const);
    return [{ path: place.join('.'), lines: shown }];
  });
}

function valueOf(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return stableJson(one) === stableJson(other);
}

function isReference(value: JsonObject): boolean {
  return Object.hasOwn(value, 'secret');
}

/** A value as text. Nothing for one that is not there. */
function linesOf(key: string, value: Json | undefined): readonly string[] {
  if (value === undefined) return [];
  const shown = stripSecrets({ [key]: value })[key] ?? null;
  if (typeof shown === 'string') return shown.replace(/\n$/, '').split('\n').map(maskSecrets);
  return JSON.stringify(shown, undefined, 2).split('\n').map(maskSecrets);
}

const assignment =
  /((?:password|passwd|passphrase|secret|token|private.?key|api.?key|credential)\w*["']?\s*[=:]\s*)\S.*/i;

/** `DB_PASSWORD=hunter2` in a script, and user and password of addresses. */
function maskSecrets(line: string): string {
  return withoutUserInfo(line.replace(assignment, `$1${masked}`));
}
