import { movedBy, type Records } from '../move.js';
import type { ImageState } from './state.js';

export type ImageRecords = Records<ImageState>;

/** Why an image cannot be exported now; undefined when it can. An exported one may be exported again. */
export function refuseImageExport({
  name,
  spec,
  leaving,
  exported,
  machines,
  builds,
}: ImageState): string | undefined {
  if (exported !== undefined) return undefined;
  if (spec === undefined) return `image ${name} has no recipe yet`;
  if (leaving !== undefined) return `image ${name} is being deleted`;
  const [machine] = machines;
  if (machine !== undefined)
    return `image ${name} cannot be exported: machine ${machine.name} of a build still exists`;
  const building = builds.find(({ state }) => state === 'building');
  return building === undefined
    ? undefined
    : `image ${name} cannot be exported while build ${building.number} is running; wait for it, or cancel it: heddle image cancel ${name}`;
}

/** What a restored image starts with. */
export function restoredImage(records: ImageRecords, now: number): ImageState {
  const { exported: _exported, ...image } = records.carried;
  return { ...image, ...movedBy(records, now) };
}
