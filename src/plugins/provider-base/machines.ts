import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { LibraryInput } from '../contract.js';
import type { Json, JsonObject } from '../../model/json.js';

/** Whether a machine or image carries all of the wanted tags. */
export function hasTags(
  tags: Readonly<Record<string, string>> | null | undefined,
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(([name, value]) => tags?.[name] === value);
}

/**
 * The tags by which an upload is deleted: those it was uploaded with. Its token contains the account's name,
 * which may have changed since then.
 */
export function tagsOfUpload(
  { token, tags = {} }: Pick<LibraryInput, 'token' | 'tags'>,
  tokenTag: string,
): Readonly<Record<string, string>> {
  return Object.keys(tags).length > 0 ? tags : { [tokenTag]: token };
}

/** The `ssh-auth` of a payload. */
export function sshAuthOf(user: string, key: Json | undefined): JsonObject {
  return key === undefined ? { user } : { user, key };
}

/** @throws the resolver's error for an unknown host name */
export async function resolveAddress(address: string): Promise<string> {
  return isIP(address) > 0 ? address : (await lookup(address)).address;
}
