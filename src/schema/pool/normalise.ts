import type { LabelSpec, OfferSpec, PoolSpec, ProviderPoolSpec } from '../../model/pool/spec.js';
import { parseDuration } from '../duration.js';
import type { WrittenPool } from './written.js';

/** Writes out defaults and short forms. Pure; what it means is checked by `checkPool`. */
export function normalisePool(name: string, { labels, providerPools, tenants }: WrittenPool): PoolSpec {
  return {
    name,
    labels: mapEntries(labels, normaliseLabel),
    providerPools: mapEntries(providerPools, (written) => normaliseProviderPool(written, labels)),
    tenants,
  };
}

function normaliseLabel({
  minReady,
  maxReadyAge,
  spareAge,
  maxHoldAge,
  onReturn,
  cleanUp,
}: WrittenPool['labels'][string]): LabelSpec {
  return {
    minReady,
    onReturn,
    spareAgeMs: milliseconds(spareAge) ?? 0,
    ...present('maxReadyAgeMs', milliseconds(maxReadyAge)),
    ...present('maxHoldAgeMs', milliseconds(maxHoldAge)),
    ...(cleanUp === undefined
      ? {}
      : {
          cleanUp: {
            script: cleanUp.script,
            ...(cleanUp.sudo ? { sudo: true } : {}),
            ...present('timeoutMs', milliseconds(cleanUp.timeout)),
          },
        }),
  };
}

function normaliseProviderPool(
  written: WrittenPool['providerPools'][string],
  ofPool: WrittenPool['labels'],
): ProviderPoolSpec {
  const {
    provider,
    priority,
    limits,
    ignoreQuota,
    attributes,
    launchAttempts,
    checkEvery,
    keepUnwell,
    labels,
  } = written;
  return {
    provider,
    priority,
    limits,
    attributes,
    launchAttempts,
    labels: mapEntries(labels, (offer, label) => normaliseOffer(offer, ofPool[label]?.libraryImage)),
    ...(ignoreQuota ? { ignoreQuota } : {}),
    ...(keepUnwell ? { keepUnwell } : {}),
    ...present('checkEveryMs', milliseconds(checkEvery)),
  };
}

function normaliseOffer(
  {
    hardware,
    image,
    libraryImage,
    fields,
    uses,
    launchWithin,
    confirmWithin,
    slots,
    minRetention,
    maxAge,
  }: WrittenPool['providerPools'][string]['labels'][string],
  ofLabel: string | undefined,
): OfferSpec {
  // What the provider pool says itself comes before what its label says.
  const built = libraryImage ?? (image === undefined ? ofLabel : undefined);
  return {
    hardware,
    image: image ?? 'default',
    ...present('libraryImage', built),
    fields,
    uses: { ...uses, nodes: uses['nodes'] ?? 1 },
    ...present('slots', slots),
    ...present('launchWithinMs', milliseconds(launchWithin)),
    ...present('confirmWithinMs', milliseconds(confirmWithin)),
    ...present('minRetentionMs', milliseconds(minRetention)),
    ...present('maxAgeMs', milliseconds(maxAge)),
  };
}

function milliseconds(written: string | number | undefined): number | undefined {
  return written === undefined ? undefined : parseDuration(written);
}

function present<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { readonly [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [K in Key]?: Value };
}

function mapEntries<From, To>(
  record: Readonly<Record<string, From>>,
  change: (from: From, key: string) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}
