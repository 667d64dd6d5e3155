import type { ResourceRecord, ResourceVersion } from '../../schema/output/resource.js';
import { bounds } from '../bounds.js';
import { refuseGrowth } from '../carried.js';
import {
  resourceDigestPattern,
  resourceFormats,
  resourceNamePattern,
  resourceNameRule,
  type PinnedResource,
  type ResourceReference,
} from './reference.js';

/** All resources of a namespace: which versions there are, and which one each name means. */
export type Catalogue = Readonly<Record<string, ResourceRecord>>;

/** What is stored of one version. */
export type ResourceContent = Pick<ResourceVersion, 'digest' | 'format' | 'bytes' | 'parts'>;

/** Largest content of a resource, in bytes; an archive counts unpacked. */
export const maxResourceBytes = 16 * 1024 * 1024;
/** A part as it is sent, in base64, stays under the size that the server warns of, 512 KiB. */
export const resourcePartBytes = 336 * 1024;
/** Names and versions that one catalogue holds; its state must fit into one message. */
const maxResources = 500;
/**
 * In bytes of JSON; the rest of the bound is for what names meant before, which grows with other messages.
 */
const mostCatalogue = bounds.artifacts.others.most - 100_000;
export const maxVersions = 3_000;
/** How far back a rollback can go. */
const rememberedSets = 20;

export interface PutRequest extends ResourceContent {
  readonly name: string;
  readonly by: string;
}

/** The problem with a request to put a version; undefined if there is none. */
export function refusePut(catalogue: Catalogue, request: unknown): string | undefined {
  const { name, digest, format, bytes, parts, by } = request as Partial<Record<keyof PutRequest, unknown>>;
  if (typeof name !== 'string' || !resourceNamePattern.test(name))
    return `the name of the resource is invalid. ${resourceNameRule}`;
  if (
    typeof digest !== 'string' ||
    !resourceDigestPattern.test(digest) ||
    !resourceFormats.some((one) => one === format) ||
    typeof by !== 'string'
  )
    return 'the request lacks a digest, format or requester';
  if (typeof bytes !== 'number' || !Number.isInteger(bytes) || bytes < 0 || bytes > maxResourceBytes)
    return `the size must be at most ${maxResourceBytes} bytes`;
  if (parts !== partsOf(bytes))
    return `${bytes} bytes are stored in ${partsOf(bytes)} parts, not ${String(parts)}`;
  if (catalogue[name]?.versions.some((known) => known.digest === digest && known.format === format) === true)
    return undefined;
  const count = Object.values(catalogue).reduce((sum, { versions }) => sum + versions.length, 0);
  if (catalogue[name] === undefined && Object.keys(catalogue).length >= maxResources)
    return `the limit of ${maxResources} resources is reached; run 'heddle resource prune' to remove unused ones`;
  if (count >= maxVersions)
    return `the limit of ${maxVersions} versions of resources is reached; run 'heddle resource prune' to remove unused ones`;
  return refuseGrowth(
    'the catalogue of resources',
    { state: catalogue, added: request, most: mostCatalogue },
    "run 'heddle resource prune' to remove unused ones",
  );
}

/** The number of parts in which content of a size is stored. */
export function partsOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / resourcePartBytes));
}

/** Adds a version, or finds the one with the same content. The first version of a name is set at once. */
export function putVersion(
  catalogue: Catalogue,
  { name, by, digest, format, bytes, parts }: PutRequest,
  at: string,
): { readonly catalogue: Catalogue; readonly version: ResourceVersion } {
  const record = catalogue[name] ?? { versions: [], before: [], next: 1, set: 1 };
  const known = record.versions.find((version) => version.digest === digest && version.format === format);
  if (known !== undefined) return { catalogue, version: known };
  const version: ResourceVersion = { version: record.next, digest, format, bytes, parts, at, by };
  return {
    catalogue: {
      ...catalogue,
      [name]: { ...record, versions: [...record.versions, version], next: record.next + 1 },
    },
    version,
  };
}

/** Why a version cannot be set; undefined if it can. `null` unsets. */
export function refuseSet(catalogue: Catalogue, name: string, version: number | null): string | undefined {
  const record = catalogue[name];
  if (record === undefined)
    return `resource ${name} does not exist; run 'heddle resource list' to see the existing ones`;
  if (version === null || record.versions.some((known) => known.version === version)) return undefined;
  return `resource ${name} has no version ${version}; existing versions: ${record.versions.map((known) => known.version).join(', ') || 'none'}`;
}

export function setVersion(catalogue: Catalogue, name: string, version: number | null): Catalogue {
  const record = catalogue[name];
  if (record === undefined || (record.set ?? null) === version) return catalogue;
  const { set, ...rest } = record;
  const before = set === undefined ? record.before : [...record.before, set].slice(-rememberedSets);
  return { ...catalogue, [name]: { ...rest, before, ...(version === null ? {} : { set: version }) } };
}

export function refuseRollback(catalogue: Catalogue, name: string): string | undefined {
  const record = catalogue[name];
  if (record === undefined) return refuseSet(catalogue, name, null);
  return record.before.length > 0 ? undefined : `no other version of resource ${name} was set before`;
}

/** Sets the previously set version. Repeated, it goes back one more. */
export function rollBack(catalogue: Catalogue, name: string): Catalogue {
  const record = catalogue[name];
  const version = record?.before.at(-1);
  return record === undefined || version === undefined
    ? catalogue
    : { ...catalogue, [name]: { ...record, set: version, before: record.before.slice(0, -1) } };
}

/**
 * Versions that nothing needs: not set, not what a rollback would set, not in use, and older than a moment.
 */
export interface Pruning {
  /** Digests that clusters use. */
  readonly used: readonly string[];
  /** Only versions put before this, RFC 3339. */
  readonly before: string;
}

export interface PrunedVersion extends ResourceVersion {
  readonly name: string;
}

export function prunable(catalogue: Catalogue, { used, before }: Pruning): readonly PrunedVersion[] {
  return Object.entries(catalogue).flatMap(([name, record]) =>
    record.versions
      .filter(
        ({ version, digest, at }) =>
          version !== record.set && version !== record.before.at(-1) && !used.includes(digest) && at < before,
      )
      .map((version) => ({ name, ...version })),
  );
}

/** Removes versions, and names without any. Returns contents that no version refers to any longer. */
export function removeVersions(
  catalogue: Catalogue,
  removed: readonly PrunedVersion[],
): { readonly catalogue: Catalogue; readonly unused: readonly ResourceContent[] } {
  const isRemoved = (name: string, version: number): boolean =>
    removed.some((one) => one.name === name && one.version === version);
  const kept = Object.fromEntries(
    Object.entries(catalogue).flatMap(([name, record]) => {
      const versions = record.versions.filter(({ version }) => !isRemoved(name, version));
      const before = record.before.filter((version) => versions.some((known) => known.version === version));
      return versions.length === 0 ? [] : [[name, { ...record, versions, before }] as const];
    }),
  );
  const needed = new Set(Object.values(kept).flatMap(({ versions }) => versions.map(({ digest }) => digest)));
  const unused = new Map(
    removed.filter(({ digest }) => !needed.has(digest)).map((content) => [content.digest, content]),
  );
  return { catalogue: kept, unused: [...unused.values()] };
}

/** The content that a reference means now; undefined if there is none. */
export function pinReference(
  catalogue: Catalogue,
  { resource, version, digest }: ResourceReference,
): PinnedResource | undefined {
  const record = Object.hasOwn(catalogue, resource) ? catalogue[resource] : undefined;
  const wanted = version ?? (digest === undefined ? record?.set : undefined);
  const found = record?.versions.find(
    (known) =>
      (wanted === undefined || known.version === wanted) && (digest === undefined || known.digest === digest),
  );
  return found === undefined || (wanted === undefined && digest === undefined)
    ? undefined
    : { resource, version: found.version, digest: found.digest, format: found.format };
}
