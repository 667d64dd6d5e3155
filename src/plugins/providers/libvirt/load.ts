import type { ImageInput, Outcome } from '../../contract.js';
import { withVolumes } from './domain.js';
import type { LibvirtFields } from './fields.js';
import { identify } from './identity.js';
import { domainOf, type Domain } from './machines.js';
import { makeSeed } from './seed.js';
import type { Virsh } from './virsh.js';
import type { Volumes } from './volumes.js';

/**
 * Switches a machine to a new layer of an image. The layer belongs to the load, by its token. One call
 * switches the domain, so after any interruption the disk is the old or the new one, and the layer is created
 * once. The old layer is deleted last.
 */
export async function loadImage(
  {
    virsh,
    volumes,
    fields,
  }: { readonly virsh: Virsh; readonly volumes: Volumes; readonly fields: LibvirtFields },
  image: string,
  { key, token, progress }: ImageInput,
): Promise<Outcome> {
  const domain = await domainOf(virsh, key);
  if (domain === undefined) return noSuchDomain;
  const identity = identify(key, token);
  if (domain.disk !== identity.disk) {
    const refused = refuseUnlessOff(domain);
    if (refused !== undefined) return refused;
    const base = await volumes.base(image);
    const old = domain.disk === undefined ? undefined : await volumes.find(domain.disk);
    progress(`makes a disk of image ${image}`);
    // A disk that was ordered larger than its image stays so.
    await volumes.makeLayer(identity.disk, base, Math.max(base.capacity, old?.capacity ?? 0));
    // To cloud-init it is another instance: what it did for the old disk is not on this one.
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

export const noSuchDomain: Outcome = { answer: 'not done', why: 'libvirt has no domain of this machine' };

/** A disk in use is neither changed nor read. */
export function refuseUnlessOff({ stateText }: Domain): Outcome | undefined {
  return stateText === 'shut off'
    ? undefined
    : { answer: 'not done', why: `the domain is ${stateText}, and its disk is in use; switch it off first` };
}
