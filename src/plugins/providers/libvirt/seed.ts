import { makeHostKey, type HostKey } from '../../cloud-init/host-key.js';
import { makeSeedImage } from '../../cloud-init/seed-image.js';
import { makeUserData } from '../../cloud-init/user-data.js';
import type { LibvirtFields } from './field-types.js';

export interface SeedParts {
  readonly key: string;
  readonly hostname: string;
  /** cloud-init does its work once for each. */
  readonly instance: string;
}

export function hostKeyOf({ hostKeySecret }: LibvirtFields, key: string): HostKey | undefined {
  return hostKeySecret === undefined ? undefined : makeHostKey(hostKeySecret, key);
}

/** The disk that cloud-init reads. */
export function makeSeed(fields: LibvirtFields, { key, hostname, instance }: SeedParts): Buffer {
  const userData = makeUserData({
    hostname,
    hostKey: hostKeyOf(fields, key),
    publicKeys: fields.publicKeys,
    own: fields.userData,
  });
  return makeSeedImage({
    'meta-data': JSON.stringify({ 'instance-id': instance, 'local-hostname': hostname }),
    'user-data': userData,
  });
}
