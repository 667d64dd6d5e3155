import type { JsonObject } from '../model/json.js';
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
  /** Whether the label is declared and enabled. */
  declares(label: string): boolean;
  /** Heddle's name of a label. */
  nameOf(label: string): string;
  /** The same, and records that the label is served. */
  serve(label: string): string;
  /** Whether the file declares the diskimage. */
  declaresImage(diskimage: string): boolean;
  /** The login user of machines of a diskimage, if the file specifies it. */
  userOf(diskimage: string): string | undefined;
  /** Heddle's name of the image of a diskimage. */
  useImage(diskimage: string, use: ImageUse): string;
}
