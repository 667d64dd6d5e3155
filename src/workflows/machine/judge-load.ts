import { formatImageRef, type ImageRef } from '../../model/machine/image.js';
import type { MachineTaskOutcome, RecordView } from '../../model/machine/messages.js';
import { refuse } from './failure.js';
import type { MachineMemory } from './memory.js';
import { can } from './run-step.js';

interface Wanted {
  readonly image: ImageRef;
}

/** Whether the image is where the machine can have it written from. */
export function judgeImage(
  memory: MachineMemory,
  { image }: Wanted,
  { exists }: MachineTaskOutcome,
): boolean {
  if (exists?.is === 'yes') return true;
  const what = `image ${formatImageRef(image)}`;
  if (exists?.is === 'unknown')
    refuse(
      memory,
      'IMAGE_EXISTS',
      'unknown',
      `it is unknown whether ${what} exists: ${exists.why ?? 'no reason was given'}`,
    );
  if (!can(memory, 'RETRIEVE_IMAGE'))
    refuse(
      memory,
      'IMAGE_EXISTS',
      'not done',
      `${what} does not exist at provider ${memory.state.registration.provider}`,
    );
  return false;
}

/**
 * The disk that the machine booted must be another than before: without the mark of this load
 * and, if there is a record, with that of the image.
 */
export function judgeDisk(
  memory: MachineMemory,
  { image }: Wanted,
  { mark, record }: MachineTaskOutcome,
): void {
  const next =
    'LOAD did not write the disk that the machine boots from; check the program that writes images, and the boot order of the machine';
  if (mark === 'present')
    refuse(
      memory,
      'CHECK_MARK',
      'not done',
      `the machine runs the system from before the load, which still has the mark of this load: ${next}`,
    );
  const wrong = wrongRecord(record, image);
  if (wrong !== undefined && wrong !== noRecord)
    refuse(memory, 'CHECK_MARK', 'not done', `after the load the machine ${wrong}: ${next}`);
}

/** The machine itself must confirm the image, unless no record could be written. */
export function judgeRecord(
  memory: MachineMemory,
  { image }: Wanted,
  { record }: MachineTaskOutcome,
  isUntouched: boolean,
): void {
  // A provider that writes no disks leaves what a user did to them, and the taint says so.
  const wrong = wrongRecord(
    isUntouched && record !== undefined ? { ...record, tainted: null } : record,
    image,
  );
  if (wrong === undefined) return;
  if (wrong === noRecord && record?.by !== 'plugin' && !can(memory, 'POST_LOAD')) return;
  refuse(memory, 'GET_CURRENT_IMAGE', 'not done', `after the load the machine ${wrong}`);
}

const noRecord = 'has no record of its image';

/** How a record differs from that of the untouched image; undefined if it does not. */
function wrongRecord(record: RecordView | undefined, image: ImageRef): string | undefined {
  if (record === undefined || (record.name === null && record.revision === null)) return noRecord;
  const { name, revision, tainted } = record;
  if (name !== image.name || revision !== image.revision)
    return `says that it has ${name ?? 'an image without a name'}@${revision ?? '?'}, not ${formatImageRef(image)}`;
  if (tainted === null) return undefined;
  return `says that its ${formatImageRef(image)} may have been used: ${tainted.join(', ') || 'no reason given'}`;
}
