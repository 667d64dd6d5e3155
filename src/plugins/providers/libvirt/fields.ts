import { z } from 'zod';
import type { JsonObject } from '../../../model/json.js';
import { PluginError } from '../../contract.js';
import {
  port,
  publicKeys,
  readFields as readAccountFields,
  secret,
  text,
} from '../../provider-base/fields.js';

/** Names in virsh commands and in XML, so without quotes, blanks and markup. */
const name = z.string().regex(/^[\w.][\w.+:@-]*$/, { error: 'must consist of letters, digits and ._+:@-' });

const fieldsSchema = z.object({
  uri: z
    .string()
    .regex(/^[a-z][a-z+]*:\/\/\S*$/, { error: 'must be a URI, such as qemu:///system' })
    .default('qemu:///system'),
  program: text.default('virsh'),
  pool: name.default('default'),
  network: name.default('default'),
  bridge: name.optional(),
  hypervisor: z.enum(['kvm', 'qemu', 'test']).default('kvm'),
  arch: name.default('x86_64'),
  addressFrom: z.enum(['lease', 'agent', 'arp', 'fixed']).default('lease'),
  addresses: z.record(text, text).default({}),
  cloudInit: z.boolean().default(true),
  hostKeySecret: text.optional(),
  privateKey: secret.optional(),
  publicKeys: publicKeys.default([]),
  user: text.default('root'),
  sshPort: port.default(22),
  userData: z.string().optional(),
  libraries: z.array(name).default([]),
  settleSeconds: z.number().min(0.1).default(30),
  shutDownSeconds: z.number().min(0).default(60),
  readEveryMs: z.number().min(10).default(1_000),
});
export type LibvirtFields = z.output<typeof fieldsSchema>;

/** @throws PluginError Invalid that names every wrong field. */
export function readFields(fields: JsonObject): LibvirtFields {
  return readAccountFields(fieldsSchema, fields, 'libvirt', ({ cloudInit, ...seed }) =>
    !cloudInit &&
    (seed.hostKeySecret !== undefined || seed.publicKeys.length > 0 || seed.userData !== undefined)
      ? ['hostKeySecret, publicKeys and userData require cloudInit: true']
      : [],
  );
}

/** An image's name, as virsh takes it. */
export function readImage(image: string): string {
  if (name.safeParse(image).success) return image;
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
