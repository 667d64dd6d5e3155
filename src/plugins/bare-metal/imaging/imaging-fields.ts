import { isIPv4 } from 'node:net';
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import type { FieldFault } from '../../../model/field-fault.js';
import type { JsonObject } from '../../../model/json.js';
import { faultsOf, parseFields, text } from '../../provider-base/fields.js';

const folder = z.string().refine(isAbsolute, { error: 'must be an absolute path' });

const imagingSchema = z.strictObject({
  /** Folder of images, each a file NAME@REVISION with the extension of its format. */
  images: folder,
  /** Folder of the rescue system that `heddle image rescue` creates. */
  rescue: folder,
  /** Address and port of the server that machines boot from. */
  listen: z
    .string()
    .refine(isAddressAndPort, { error: 'must be an IPv4 address and a port, such as 10.0.1.5:8480' }),
  /** The disk to write, unless the machine sets one. */
  disk: text.optional(),
  bootMinutes: z.number().min(0.1).max(60).default(10),
});
export type Imaging = z.output<typeof imagingSchema>;

/** Undefined if the account does not use imaging. */
export function readImaging(imaging: JsonObject, provider: string): Imaging | undefined {
  return usesImaging(imaging)
    ? parseFields(imagingSchema, imaging, `imaging of provider ${provider}`)
    : undefined;
}

export function usesImaging(imaging: JsonObject): boolean {
  return Object.keys(imaging).length > 0;
}

export function imagingFaults(imaging: JsonObject): readonly FieldFault[] {
  return usesImaging(imaging) ? faultsOf(imagingSchema, 'imaging', imaging) : [];
}

function isAddressAndPort(written: string): boolean {
  const [, address = '', port] = /^([\d.]+):(\d{1,5})$/.exec(written) ?? [];
  return isIPv4(address) && Number(port) >= 1 && Number(port) <= 65_535;
}

/** An Ethernet address. */
export const mac = z
  .string()
  .regex(/^[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}$/, {
    error: 'must be an Ethernet address, such as 52:54:00:12:34:56',
  })
  .transform((written) => written.toLowerCase().replaceAll('-', ':'));
