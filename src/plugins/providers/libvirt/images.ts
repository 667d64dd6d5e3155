import {
  PluginError,
  type ImageInput,
  type Knowledge,
  type Outcome,
  type SizeReading,
} from '../../contract.js';
import { copyVolume, stateOfCopy } from './copy.js';
import { withVolumes } from './domain.js';
import { readImage, type LibvirtFields } from './fields.js';
import { identify } from './identity.js';
import { domainOf, type Domain } from './machines.js';
import { makeSeed } from './seed.js';
import type { Virsh } from './virsh.js';
import { Volumes } from './volumes.js';

// An image is a volume of the pool that no machine writes to.

/** What a call needs of the account. */
export interface LibvirtAccount {
  readonly fields: LibvirtFields;
  readonly virsh: Virsh;
  readonly volumes: Volumes;
}

const noSuchDomain: Outcome = { answer: 'not done', why: 'libvirt has no domain of this machine' };

export async function imageExists({ volumes }: LibvirtAccount, providerImage: string): Promise<Knowledge> {
  const image = readImage(providerImage);
  if ((await volumes.find(image)) === undefined) return { is: 'no' };
  return (await volumes.isBeingMade(image))
    ? { is: 'unknown', why: `the image ${image} is still being made` }
    : { is: 'yes' };
}

/** The size on the host's disk. */
export async function imageSize({ volumes }: LibvirtAccount, providerImage: string): Promise<SizeReading> {
  const volume = await volumes.find(readImage(providerImage));
  return volume === undefined
    ? { why: `there is no image ${providerImage}` }
    : { sizeMb: Math.ceil(volume.allocated / 2 ** 20) };
}

/**
 * Gives a machine a new layer of an image. The load's token names the layer, so it is made once. One call
 * switches the domain to it, so the disk is the old one or the new one whenever the load is interrupted.
 */
export async function loadImage(
  { virsh, volumes, fields }: LibvirtAccount,
  { key, token, progress, providerImage }: ImageInput,
): Promise<Outcome> {
  const image = readImage(providerImage);
  const domain = await domainOf(virsh, key);
  if (domain === undefined) return noSuchDomain;
  const identity = identify(key, token);
  if (domain.disk !== identity.disk) {
    const refused = refuseUnlessOff(domain);
    if (refused !== undefined) return refused;
    const base = await volumes.base(image);
    const old = domain.disk === undefined ? undefined : await volumes.find(domain.disk);
    progress(`makes a disk of image ${image}`);
    // A disk that is larger than its image keeps its size.
    await volumes.makeLayer(identity.disk, base, Math.max(base.capacity, old?.capacity ?? 0));
    // A new instance id makes cloud-init run again on the new disk.
    if (domain.seed !== undefined)
      await volumes.write(
        identity.seed,
        makeSeed(fields, { key, hostname: domain.hostname, instance: `${identity.uuid}-${identity.disk}` }),
      );
    await virsh.run(['define', '/dev/stdin'], { input: withVolumes(domain.xml, identity, image) });
    progress(`the machine has a disk of image ${image}`);
  }
  for (const volume of await volumes.ofMachine(identity))
    if (volume !== identity.disk && volume !== identity.seed) await volumes.delete(volume);
  return { answer: 'done' };
}

export async function captureImage(
  { virsh, volumes, fields: { pool } }: LibvirtAccount,
  { key, providerImage, token, progress }: ImageInput,
): Promise<Outcome> {
  const target = readImage(providerImage);
  const domain = await domainOf(virsh, key);
  if (domain === undefined) return noSuchDomain;
  const refused = refuseUnlessOff(domain);
  if (refused !== undefined) return refused;
  const { disk: name } = domain;
  const disk = name === undefined ? undefined : await volumes.find(name);
  if (name === undefined || disk === undefined)
    return { answer: 'not done', why: `the machine's disk is no volume of the storage pool ${pool}` };
  const from = { pool, name, capacity: disk.capacity };
  return copyVolume(virsh, volumes, { domain, token, target, progress, from });
}

/** Copies the image from the first library that has it. The machine's domain records the state of the copy. */
export async function retrieveImage(
  { virsh, volumes, fields }: LibvirtAccount,
  { key, providerImage, token, progress }: ImageInput,
): Promise<Outcome> {
  const target = readImage(providerImage);
  const domain = await domainOf(virsh, key);
  if (domain === undefined) return noSuchDomain;
  if (stateOfCopy(domain, { token, target }) === undefined && (await volumes.find(target)) !== undefined) {
    if (await volumes.isBeingMade(target))
      throw new PluginError('NotReady', `the image ${target} is still being made`);
    return { answer: 'done' };
  }
  const { libraries } = fields;
  for (const pool of libraries) {
    const found = await new Volumes(virsh, fields, pool).find(target);
    if (found === undefined) continue;
    const from = { pool, name: target, capacity: found.capacity };
    return copyVolume(virsh, volumes, { domain, token, target, progress, from });
  }
  const why =
    libraries.length === 0
      ? 'the account names no libraries to copy it from'
      : `none of the libraries ${libraries.join(', ')} has the image ${target}`;
  return { answer: 'not done', why };
}

/** A disk in use must be neither changed nor read. */
function refuseUnlessOff({ stateText }: Domain): Outcome | undefined {
  return stateText === 'shut off'
    ? undefined
    : { answer: 'not done', why: `the domain is ${stateText}, and its disk is in use; switch it off first` };
}
