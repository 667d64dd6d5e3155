import { isNewer, type ImageUpdate, type Offer } from '../image/notification.js';
import { imageRefOf } from '../image/build.js';
import type { PlannedPlacement } from '../node/placement.js';
import { isSpare, type PoolNode } from './node.js';
import type { PoolState } from './state.js';

/**
 * The version of a node compared with its account's present one.
 * - `superseded`: there is a newer one. The node serves until a replacement is ready.
 * - `withdrawn`: it was rolled back and is no longer offered.
 */
export type VersionStatus = 'current' | 'superseded' | 'withdrawn';

/** The source of a new machine; undefined while its image is not available. */
export function placementFor(
  pool: PoolState,
  providerPool: string,
  label: string,
): PlannedPlacement | undefined {
  const { libraryImage, ...placement } = pool.placements[providerPool]?.[label] ?? {};
  if (!isPlaced(placement)) return undefined;
  if (libraryImage === undefined) return placement;
  const offer = offerOf(pool, libraryImage, placement.provider);
  return offer === undefined
    ? undefined
    : { ...placement, image: offer.image, built: imageRefOf(libraryImage, { number: offer.build }) };
}

/**
 * Why no machine of the label can be made there now, though the provider pool serves it; undefined where one
 * can.
 */
export function lacksImage(
  { placements, library }: PoolState,
  providerPool: string,
  label: string,
): string | undefined {
  const { libraryImage, provider } = placements[providerPool]?.[label] ?? {};
  if (libraryImage === undefined || provider === undefined) return undefined;
  const update = library?.[libraryImage];
  if (update?.offers[provider] !== undefined) return undefined;
  return update === undefined || update.gone === true
    ? `image ${libraryImage} does not exist`
    : `image ${libraryImage} has no ready version at ${provider}`;
}

export function versionStatusOf(pool: PoolState, node: PoolNode): VersionStatus {
  if (pool.library === undefined) return 'current';
  const { placement } = (node.backing === undefined ? node : (pool.nodes[node.backing] ?? node)).machine;
  const built = placement?.built;
  if (placement === undefined || built === undefined) return 'current';
  // Without another version, its nodes are the best available.
  const offer = offerOf(pool, built.name, placement.provider);
  const revision = Number(built.revision);
  if (offer === undefined || offer.build === revision) return 'current';
  return offer.build > revision ? 'superseded' : 'withdrawn';
}

/** Free, ready nodes of older images. A shared machine with nodes stays until they are gone. */
export function oldSpares(pool: PoolState): readonly PoolNode[] {
  if (pool.library === undefined) return [];
  const nodes = Object.values(pool.nodes);
  const old = nodes.filter((node) => isSpare(node) && versionStatusOf(pool, node) === 'superseded');
  return old.filter(({ id, slots }) => slots === undefined || !nodes.some(({ backing }) => backing === id));
}

/**
 * The image that the node was made from, or was being made from, was replaced or taken back: what became of
 * it says nothing of its provider.
 */
export function hasLostItsImage(pool: PoolState, { id, providerPool, label }: PoolNode): boolean {
  if (pool.placements[providerPool]?.[label]?.libraryImage === undefined) return false;
  const now = placementFor(pool, providerPool, label);
  return now === undefined || pool.nodes[id]?.machine.placement?.built?.revision !== now.built?.revision;
}

/** Applies an update of an image; false if it is already known, or irrelevant. */
export function noteImageUpdate(pool: PoolState, update: ImageUpdate): boolean {
  if (!librariesOf(pool).includes(update.image) || !isNewer(update, pool.library?.[update.image]))
    return false;
  pool.library = { ...pool.library, [update.image]: update };
  // What failed with the version before may work with this one.
  for (const [name, offers] of Object.entries(pool.placements)) {
    for (const [label, { libraryImage }] of Object.entries(offers))
      if (libraryImage === update.image) delete pool.resting[`${name}/${label}`];
  }
  return true;
}

/** Library images from which the pool creates nodes. */
export function librariesOf({ placements }: PoolState): readonly string[] {
  return [
    ...new Set(
      Object.values(placements).flatMap((offers) =>
        Object.values(offers).flatMap(({ libraryImage }) => libraryImage ?? []),
      ),
    ),
  ];
}

/** Forgets images that the pool no longer uses. */
export function forgetUnused(pool: PoolState): void {
  if (pool.library === undefined) return;
  const used = librariesOf(pool);
  const kept = Object.entries(pool.library).filter(([image]) => used.includes(image));
  if (kept.length === 0) delete pool.library;
  else pool.library = Object.fromEntries(kept);
}

function offerOf({ library }: PoolState, image: string, provider: string): Offer | undefined {
  return library?.[image]?.offers[provider];
}

function isPlaced(placement: Partial<PlannedPlacement>): placement is PlannedPlacement {
  return placement.provider !== undefined;
}
