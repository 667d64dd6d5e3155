import {
  PluginError,
  type ImageInput,
  type Knowledge,
  type Outcome,
  type SizeReading,
} from '../../contract.js';
import { copyVolume, refuseExisting, stateOfCopy, type Copy } from './copy.js';
import { withVolumes } from './domain.js';
import type { LibvirtFields } from './field-types.js';
import { readImage } from './fields.js';
import { identify, identifyImage, type Identity } from './identity.js';
import { domainOf, type Domain } from './machines.js';
import { powerDriverOf } from './power.js';
import { makeSeed } from './seed.js';
import { claimImage, isClaimed, removeTemplate } from './template.js';
import type { Virsh } from './virsh.js';
import { Volumes } from './volumes.js';

// An image is a volume of the pool that no machine writes to.

/** What a call needs of the account. */
export interface LibvirtAccount {
  readonly fields: LibvirtFields;
  readonly virsh: Virsh;
  readonly volumes: Volumes;
}

const noSuchDomain: Outcome = { answer: 'not done', why: 'libvirt does not have a domain for this machine' };

export async function imageExists({ volumes }: LibvirtAccount, providerImage: string): Promise<Knowledge> {
  const image = readImage(providerImage);
  if ((await volumes.find(image)) === undefined) return { is: 'no' };
  return (await volumes.isBeingMade(image))
    ? { is: 'unknown', why: `image ${image} is still being created` }
    : { is: 'yes' };
}

/** The size on the host's disk. */
export async function imageSize({ volumes }: LibvirtAccount, providerImage: string): Promise<SizeReading> {
  const volume = await volumes.find(readImage(providerImage));
  return volume === undefined
    ? { why: `image ${providerImage} does not exist` }
    : { sizeMb: Math.ceil(volume.allocated / 2 ** 20) };
}

/**
 * Gives a machine a new layer of an image. The load's token names the layer, so it is made once.
 */
export async function loadImage(
  account: LibvirtAccount,
  { key, token, progress, providerImage }: ImageInput,
): Promise<Outcome> {
  const image = readImage(providerImage);
  const domain = await domainOf(account.virsh, key);
  if (domain === undefined) return noSuchDomain;
  const identity = identify(key, token);
  if (domain.disk !== identity.disk) {
    const refused = refuseUnlessOff(domain);
    if (refused !== undefined) return refused;
    if ((await account.volumes.find(image)) === undefined)
      throw new PluginError(
        'ImageUnusable',
        `image ${image} is not a volume of storage pool ${account.fields.pool}`,
      );
    progress(`creates a disk from image ${image}`);
    await switchDisk(account, domain, image, identity);
    progress(`the machine has a disk from image ${image}`);
  }
  await deleteOtherVolumes(account.volumes, identity);
  return { answer: 'done' };
}

/**
 * Gives a machine an unused layer of the image that it has, and leaves its power as it was. The
 * domain is switched to the layer first: a running machine uses it from its next start. So a
 * repetition after an interruption knows whether the machine was on; it makes another layer,
 * since the machine may have been used.
 */
export async function renewDisk(account: LibvirtAccount, key: string): Promise<Outcome> {
  const { virsh, volumes, fields } = account;
  const domain = await domainOf(virsh, key);
  if (domain === undefined) return noSuchDomain;
  const { disk, image, stateText, uuid } = domain;
  if (disk === undefined || image === undefined)
    return { answer: 'not done', why: 'libvirt has no record of the image of its disk' };
  const isOn = stateText !== 'shut off' || (await wasSwitchedOff(volumes, key, disk));
  const identity = identify(key, renewalToken(disk, isOn ? 'on' : 'off'));
  await switchDisk(account, domain, image, identity);
  // Nothing on the old disk is kept, so its system need not shut down.
  const power = powerDriverOf(virsh, uuid, { ...fields, shutDownSeconds: 0 });
  const off = await power.off();
  if (off.answer !== 'done') return off;
  const on = isOn ? await power.on() : off;
  if (on.answer !== 'done') return on;
  await deleteOtherVolumes(volumes, identity);
  return { answer: 'done' };
}

/** Whether an interrupted call made the disk for a machine that was on: its earlier disk is still there. */
async function wasSwitchedOff(volumes: Volumes, key: string, disk: string): Promise<boolean> {
  const names = await volumes.ofMachine(identify(key));
  return names.some((old) => old !== disk && identify(key, renewalToken(old, 'on')).disk === disk);
}

/** No token of a load begins like this. */
function renewalToken(disk: string, power: 'on' | 'off'): string {
  return `renewal of ${disk}, power ${power}`;
}

/** One call switches the domain, so it has the old disk or the new one whenever this is interrupted. */
async function switchDisk(
  { virsh, volumes, fields }: LibvirtAccount,
  domain: Domain,
  image: string,
  identity: Identity,
): Promise<void> {
  const base = await volumes.base(image);
  const old = domain.disk === undefined ? undefined : await volumes.find(domain.disk);
  // A disk that is larger than its image keeps its size.
  await volumes.makeLayer(identity.disk, base, Math.max(base.capacity, old?.capacity ?? 0));
  // A new instance id makes cloud-init run again on the new disk.
  if (domain.seed !== undefined)
    await volumes.write(
      identity.seed,
      makeSeed(fields, {
        key: domain.key,
        hostname: domain.hostname,
        instance: `${identity.uuid}-${identity.disk}`,
      }),
    );
  await virsh.run(['define', '/dev/stdin'], { input: withVolumes(domain.xml, identity, image) });
}

async function deleteOtherVolumes(volumes: Volumes, identity: Identity): Promise<void> {
  for (const volume of await volumes.ofMachine(identity))
    if (![identity.disk, identity.seed, identity.log].includes(volume)) await volumes.delete(volume);
}

export async function captureImage(
  { virsh, volumes, fields }: LibvirtAccount,
  { key, providerImage, token, imageTags, progress }: ImageInput,
): Promise<Outcome> {
  const target = readImage(providerImage);
  const domain = await domainOf(virsh, key);
  if (domain === undefined) return noSuchDomain;
  const refused = refuseUnlessOff(domain);
  if (refused !== undefined) return refused;
  const { disk: name } = domain;
  const disk = name === undefined ? undefined : await volumes.find(name);
  if (name === undefined || disk === undefined)
    return { answer: 'not done', why: `the machine's disk is not a volume of storage pool ${fields.pool}` };
  const copy: Copy = {
    domain,
    token,
    target,
    progress,
    from: { pool: fields.pool, name, capacity: disk.capacity },
  };
  if (imageTags === undefined) return copyVolume(virsh, volumes, copy);
  if (stateOfCopy(domain, copy) === undefined && (await volumes.find(target)) !== undefined) {
    // An interrupted attempt may have left its template, by which another's image would be deleted.
    await removeTemplate(virsh, identifyImage(fields.pool, target, token));
    return refuseExisting(target);
  }
  const claim = { volume: target, token, kind: 'capture', tags: imageTags } as const;
  const template = await claimImage(virsh, fields, volumes, claim);
  if (template === undefined) return refuseExisting(target);
  const outcome = await copyVolume(virsh, volumes, copy);
  if (outcome.answer === 'not done') await removeTemplate(virsh, template);
  else if (!(await isClaimed(virsh, fields.pool, template)))
    throw new PluginError('Retryable', `another capture claimed the image ${target} meanwhile`);
  return outcome;
}

/**
 * Copies the image from the library with the most complete copy of it. The machine's domain
 * records the state of the copy.
 */
export async function retrieveImage(
  { virsh, volumes, fields }: LibvirtAccount,
  { key, providerImage, token, progress }: ImageInput,
): Promise<Outcome> {
  const target = readImage(providerImage);
  const domain = await domainOf(virsh, key);
  if (domain === undefined) return noSuchDomain;
  if (stateOfCopy(domain, { token, target }) === undefined && (await volumes.find(target)) !== undefined) {
    if (await volumes.isBeingMade(target))
      throw new PluginError('NotReady', `image ${target} is still being created`);
    return { answer: 'done' };
  }
  const { libraries } = fields;
  let most: { readonly pool: string; readonly capacity: number; readonly allocated: number } | undefined;
  let unfinished: string | undefined;
  for (const pool of libraries) {
    const library = new Volumes(virsh, fields, pool);
    const found = await library.find(target);
    if (found === undefined) continue;
    if (await library.isBeingMade(target)) unfinished = pool;
    // A copy that was cut off has less; among equal ones the first counts.
    else if (most === undefined || found.allocated > most.allocated) most = { pool, ...found };
  }
  if (most !== undefined) {
    const from = { pool: most.pool, name: target, capacity: most.capacity };
    return copyVolume(virsh, volumes, { domain, token, target, progress, from });
  }
  if (unfinished !== undefined)
    throw new PluginError('NotReady', `image ${target} is still being created in library ${unfinished}`);
  const why =
    libraries.length === 0
      ? 'the account has no libraries to copy it from'
      : `none of the libraries ${libraries.join(', ')} has the image ${target}`;
  return { answer: 'not done', why };
}

/** A disk in use must be neither changed nor read. */
function refuseUnlessOff({ stateText }: Domain): Outcome | undefined {
  return stateText === 'shut off'
    ? undefined
    : { answer: 'not done', why: `the domain is ${stateText}, and its disk is in use; switch it off first` };
}
