import type { FoundNode } from './node.js';
import type { ImageSpec } from './spec.js';

/** Input of CHECK_IMAGE. */
export interface CheckImageRequest {
  readonly name: string;
  /** Closed. */
  readonly spec: unknown;
  /** The image exists already, so the node it was made of need not exist. */
  readonly made?: true;
}

export interface CheckedImage {
  readonly spec: ImageSpec;
  /** The source of the machine of the captured node. */
  readonly placement?: FoundNode['placement'];
  /** Of what it is made by. */
  readonly recipe: string;
  /** The provider accounts that it names. */
  readonly accounts: Readonly<Record<string, { readonly type: string; readonly site: string }>>;
  /** The site whose builders make it. */
  readonly site: string;
}
