import { isJsonObject, type JsonObject } from '../model/json.js';
import { resolveSecrets, type LimitedOrigin } from './reference.js';
import type { SecretSources } from './sources.js';

export interface ResolvedFields {
  readonly fields: JsonObject;
  readonly secrets: readonly string[];
}

/**
 * Fields with values in the place of their references.
 * @param passed Fields whose references the plugin gets as they are.
 * @throws SecretError
 */
export async function resolveFields(
  written: JsonObject,
  sources: SecretSources,
  origin: LimitedOrigin,
  passed: readonly string[] = [],
): Promise<ResolvedFields> {
  const select = (isPassed: boolean): JsonObject =>
    Object.fromEntries(Object.entries(written).filter(([key]) => passed.includes(key) === isPassed));
  const { value, secrets } = await resolveSecrets(select(false), sources, origin);
  return { fields: { ...(isJsonObject(value) ? value : {}), ...select(true) }, secrets };
}
