import {
  PluginError,
  type ImageInput,
  type Knowledge,
  type Outcome,
  type SizeReading,
} from '../../contract.js';
import { copyVolume, noteOf } from './copy.js';
import { readImage, type LibvirtFields } from './fields.js';
import { loadImage, noSuchDomain, refuseUnlessOff } from './load.js';
import { domainOf, type Domain } from './machines.js';
import type { Virsh } from './virsh.js';
import { Volumes } from './volumes.js';

/** Images: volumes of the pool that no machine writes to. */
export class LibvirtImages {
  readonly #virsh: Virsh;
  readonly #volumes: Volumes;
  readonly #fields: LibvirtFields;

  constructor({
    virsh,
    volumes,
    fields,
  }: {
    readonly virsh: Virsh;
    readonly volumes: Volumes;
    readonly fields: LibvirtFields;
  }) {
    this.#virsh = virsh;
    this.#volumes = volumes;
    this.#fields = fields;
  }

  async exists({ providerImage }: ImageInput): Promise<Knowledge> {
    const image = readImage(providerImage);
    if ((await this.#volumes.find(image)) === undefined) return { is: 'no' };
    return (await this.#volumes.isBeingMade(image))
      ? { is: 'unknown', why: `the image ${image} is still being made` }
      : { is: 'yes' };
  }

  /** What it takes on the host's disk. */
  async size({ providerImage }: ImageInput): Promise<SizeReading> {
    const volume = await this.#volumes.find(readImage(providerImage));
    return volume === undefined
      ? { why: `there is no image ${providerImage}` }
      : { sizeMb: Math.ceil(volume.allocated / 2 ** 20) };
  }

  load(input: ImageInput): Promise<Outcome> {
    return loadImage(
      { virsh: this.#virsh, volumes: this.#volumes, fields: this.#fields },
      readImage(input.providerImage),
      input,
    );
  }

  async capture({ key, providerImage, token, progress }: ImageInput): Promise<Outcome> {
    const target = readImage(providerImage);
    const domain = await this.#domain(key);
    if (domain === undefined) return noSuchDomain;
    const refused = refuseUnlessOff(domain);
    if (refused !== undefined) return refused;
    const disk = domain.disk === undefined ? undefined : await this.#volumes.find(domain.disk);
    if (domain.disk === undefined || disk === undefined)
      return {
        answer: 'not done',
        why: `the machine's disk is no volume of the storage pool ${this.#fields.pool}`,
      };
    return copyVolume(this.#virsh, this.#volumes, {
      domain,
      token,
      target,
      progress,
      from: { pool: this.#fields.pool, name: domain.disk, capacity: disk.capacity },
    });
  }

  /** From the first library that has it. The machine's own domain records it. */
  async retrieve({ key, providerImage, token, progress }: ImageInput): Promise<Outcome> {
    const target = readImage(providerImage);
    const domain = await this.#domain(key);
    if (domain === undefined) return noSuchDomain;
    if (noteOf(domain, { token, target }) === undefined && (await this.#volumes.find(target)) !== undefined) {
      if (await this.#volumes.isBeingMade(target))
        throw new PluginError('NotReady', `the image ${target} is still being made`);
      return { answer: 'done' };
    }
    const { libraries } = this.#fields;
    for (const pool of libraries) {
      const found = await new Volumes(this.#virsh, this.#fields, pool).find(target);
      if (found !== undefined)
        return copyVolume(this.#virsh, this.#volumes, {
          domain,
          token,
          target,
          progress,
          from: { pool, name: target, capacity: found.capacity },
        });
    }
    return {
      answer: 'not done',
      why:
        libraries.length === 0
          ? 'the account names no libraries to copy it from'
          : `none of the libraries ${libraries.join(', ')} has the image ${target}`,
    };
  }

  #domain(key: string): Promise<Domain | undefined> {
    return domainOf(this.#virsh, key);
  }
}
