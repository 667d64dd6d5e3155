import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type {
  Catalogue,
  PrunedVersion,
  Pruning,
  PutRequest,
  ResourceContent,
  ResourceRecord,
  ResourceVersion,
} from '../../model/artifact/state.js';

/** Everything the catalogue of resources can be asked. */
export const putResourceUpdate = defineUpdate<ResourceVersion, [PutRequest]>('put');
/** `null` sets none. */
export const setResourceUpdate = defineUpdate<ResourceRecord, [name: string, version: number | null]>('set');
export const rollBackResourceUpdate = defineUpdate<ResourceRecord, [name: string]>('rollback');
export const pruneResourcesUpdate = defineUpdate<readonly PrunedVersion[], [Pruning]>('prune');
export const catalogueQuery = defineQuery<Catalogue>('catalogue');
/** To a part: keep it, since the catalogue lists it; drop it, since the catalogue no longer does. */
export const keepPartSignal = defineSignal('keep');
export const dropPartSignal = defineSignal('drop');

/** The first argument of a part; the second is its content: deflated, in base64. */
export interface PartHeader extends ResourceContent {
  /** From 0. */
  readonly part: number;
}
