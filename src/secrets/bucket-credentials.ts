import { isJsonObject, type Json } from '../model/json.js';
import { resolveSecrets, type SecretSources } from './reference.js';

/** Credentials of an object store from heddle.yaml; references are resolved at each call. */
export async function readBucketCredentials(
  { accessKeyId, secretAccessKey }: { readonly accessKeyId: Json; readonly secretAccessKey: Json },
  sources: SecretSources,
): Promise<{ readonly accessKeyId: string; readonly secretAccessKey: string }> {
  const { value } = await resolveSecrets({ accessKeyId, secretAccessKey }, sources, {
    writtenBy: 'administrator',
    place: 'store.s3',
  });
  const read = isJsonObject(value) ? value : {};
  const textOf = (name: string): string => {
    const text = read[name];
    return typeof text === 'string' ? text.trim() : '';
  };
  return { accessKeyId: textOf('accessKeyId'), secretAccessKey: textOf('secretAccessKey') };
}
