import { isJsonObject, type Json } from '../json.js';

/** What a resource is: the bytes of one file, or a folder packed as an archive. */
export const resourceFormats = ['file', 'archive'] as const;
export type ResourceFormat = (typeof resourceFormats)[number];

/** A resource as people name it: the version that is set, or one of their choice. */
export interface ResourceReference {
  readonly resource: string;
  readonly version?: number;
  readonly digest?: string;
}

/** The same, bound to its content: what a cluster keeps. */
export interface PinnedResource {
  readonly resource: string;
  readonly version: number;
  /** `sha256:` and 64 hexadecimal digits, over the content as it is stored. */
  readonly digest: string;
  readonly format: ResourceFormat;
}

export const resourceNamePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
export const resourceNameRule =
  'Letters, digits and . _ -; a letter or digit first and last; at most 63 characters.';
export const resourceDigestPattern = /^sha256:[0-9a-f]{64}$/;

/** Reads a resource reference in a field; undefined for any other value. */
export function readResourceReference(value: Json | undefined): ResourceReference | undefined {
  if (!isJsonObject(value)) return undefined;
  const { resource, version, digest, ...more } = value;
  if (typeof resource !== 'string' || Object.keys(more).length > 0) return undefined;
  if (
    (version !== undefined && typeof version !== 'number') ||
    (digest !== undefined && typeof digest !== 'string')
  )
    return undefined;
  return { resource, version, digest };
}

export function readPinnedResource(value: Json | undefined): PinnedResource | undefined {
  if (!isJsonObject(value)) return undefined;
  const { resource, version, digest, format, ...more } = value;
  const known = resourceFormats.find((one) => one === format);
  if (
    typeof resource !== 'string' ||
    typeof version !== 'number' ||
    typeof digest !== 'string' ||
    known === undefined ||
    Object.keys(more).length > 0
  )
    return undefined;
  return resourceNamePattern.test(resource) && resourceDigestPattern.test(digest)
    ? { resource, version, digest, format: known }
    : undefined;
}
