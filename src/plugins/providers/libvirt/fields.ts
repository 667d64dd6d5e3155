import type { FieldFault } from '../../../model/field-fault.js';
import { PluginError } from '../../contract.js';
import type { LibvirtFields } from './field-types.js';

/** What is wrong with fields that require each other. */
export function conflictsOf({
  cloudInit,
  hostKeySecret,
  publicKeys = [],
  userData,
}: Partial<LibvirtFields>): readonly FieldFault[] {
  return cloudInit === false &&
    (hostKeySecret !== undefined || publicKeys.length > 0 || userData !== undefined)
    ? [{ path: [], wrong: 'hostKeySecret, publicKeys and userData require cloudInit: true' }]
    : [];
}

/** Names in virsh commands and in XML, so without quotes, blanks and markup. */
const name = /^[\w.][\w.+:@-]*$/;

/** An image's name, as virsh takes it. */
export function readImage(image: string): string {
  if (name.test(image)) return image;
  throw new PluginError(
    'Invalid',
    `the image ${JSON.stringify(image)} is not a valid volume name: use letters, digits and ._+:@- only`,
  );
}

export interface Size {
  readonly cpus: number;
  readonly memoryMb: number;
  /** Disk size in bytes. Default: the size of the base volume. */
  readonly disk?: number;
}

/** `2x4g` is two processors and 4 GiB of memory; `2x4gx40g` has a disk of 40 GiB. */
export function readFlavor(flavor: string): Size {
  const [, cpus = '', memory = '', unit, disk] =
    /^([1-9]\d{0,2})x([1-9]\d{0,5})([mg])(?:x([1-9]\d{0,5})g)?$/.exec(flavor) ?? [];
  if (unit === undefined)
    throw new PluginError(
      'Invalid',
      `the flavor ${flavor} is not valid for provider libvirt: use processors, memory and optionally the disk, such as 2x4g, 1x512m or 2x4gx40g`,
    );
  return {
    cpus: Number(cpus),
    memoryMb: Number(memory) * (unit === 'g' ? 1_024 : 1),
    disk: disk === undefined ? undefined : Number(disk) * 1_024 ** 3,
  };
}
