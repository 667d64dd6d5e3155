import type { JsonObject } from '../../model/json.js';
import type { Names } from './names.js';

/** What was taken over so far. */
export interface Taking {
  /** Account of heddle.yaml that stands for the simulated cloud. */
  readonly simulated: string;
  /** Provider pools, as pools.yaml has them. */
  readonly pools: Record<string, JsonObject>;
  /** Provider accounts, as heddle.yaml has them. */
  readonly accounts: Record<string, JsonObject>;
  readonly providerPools: Names;
  /** Whether nodes of the label are made at all. */
  declares(label: string): boolean;
  /** Our name of a label that is served. */
  serve(label: string): string;
}
