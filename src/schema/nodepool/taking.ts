import type { JsonObject } from '../../model/json.js';
import type { ImageUse } from './diskimages.js';
import type { Names } from './names.js';

/** The import so far. */
export interface Taking {
  /** The account in heddle.yaml that replaces the simulated cloud. */
  readonly simulated: string;
  /** Provider pools, as pools.yaml has them. */
  readonly pools: Record<string, JsonObject>;
  /** Provider accounts, as heddle.yaml has them. */
  readonly accounts: Record<string, JsonObject>;
  readonly providerPools: Names;
  /** Accounts of clouds, by the names of Nodepool's providers. */
  readonly providerAccounts: Names;
  /** Whether nodes of the label are made at all. */
  declares(label: string): boolean;
  /** Our name of a label. */
  nameOf(label: string): string;
  /** The same of one that is served. */
  serve(label: string): string;
  /** Whether the file says how the diskimage is built. */
  declaresImage(diskimage: string): boolean;
  /** Who logs in to machines of a diskimage, where the file says so. */
  userOf(diskimage: string): string | undefined;
  /** Our name of the image that becomes of a diskimage. */
  useImage(diskimage: string, use: ImageUse): string;
}
