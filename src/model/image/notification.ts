import { formatImageRef } from '../machine/image.js';
import { imageRefOf, type Build } from './build.js';

/** An image's update to its subscribers: which version is offered where. */
export interface ImageUpdate {
  readonly image: string;
  /** The image's uid; an image created anew under the same name has another. */
  readonly uid: string;
  /** Rises with each change: updates may arrive out of order. */
  readonly version: number;
  /** By provider account. */
  readonly offers: Offers;
  /** The image is deleted; no further update follows. */
  readonly gone?: true;
}

export type Offers = Readonly<Record<string, Offer>>;

/** The newest version that is ready at a provider account, and the provider's own word for it. */
export interface Offer {
  readonly build: number;
  readonly image: string;
}

/** An older version stays offered at a provider that does not have the newer one. */
export function offersOf(name: string, builds: readonly Build[]): Offers {
  const offers: Record<string, Offer> = {};
  for (const build of builds) {
    if (build.state !== 'ready') continue;
    for (const { provider, state, image } of build.uploads) {
      if (state === 'ready')
        offers[provider] ??= { build: build.number, image: image ?? formatImageRef(imageRefOf(name, build)) };
    }
  }
  return offers;
}

export function isSameOffers(one: Offers, other: Offers): boolean {
  const providers = Object.keys(one);
  return (
    providers.length === Object.keys(other).length &&
    providers.every(
      (provider) =>
        one[provider]?.build === other[provider]?.build && one[provider]?.image === other[provider]?.image,
    )
  );
}

/** Whether this update is newer than the known one. */
export function isNewer(update: ImageUpdate, known: ImageUpdate | undefined): boolean {
  return known === undefined || known.uid !== update.uid || update.version > known.version;
}
