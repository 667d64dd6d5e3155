import { posix } from 'node:path';
import type { JsonObject } from '../../../model/json.js';
import {
  PluginError,
  Provider,
  type AccountOffers,
  type AccountQuota,
  type ConsoleCommand,
  type CreateInput,
  type ImageFileInput,
  type ImageInput,
  type Knowledge,
  type LibraryInput,
  type Machine,
  type MachineInput,
  type Outcome,
  type PowerReading,
  type SizeReading,
  type TaskResult,
  type UploadedImage,
  type WantedKind,
  type WantedSizes,
  type ProviderAbilities,
} from '../../contract.js';
import { notReady, requireRunning } from '../../provider-base/confirm.js';
import { hasTags, sshAuthOf } from '../../provider-base/machines.js';
import { refusalOf } from '../../provider-base/offers.js';
import type { PowerDriver } from '../../bare-metal/index.js';
import { domainXml, hasConsoleLog } from './domain.js';
import type { LibvirtFields } from './field-types.js';
import { conflictsOf, readFlavor, readImage } from './fields.js';
import { identify, type Identity } from './identity.js';
import {
  captureImage,
  imageExists,
  imageSize,
  loadImage,
  renewDisk,
  retrieveImage,
  type LibvirtAccount,
} from './images.js';
import { domainOf, domainWithId, listDomains, readAddresses, type Domain } from './machines.js';
import { powerDriverOf } from './power.js';
import { hostQuota, sizesOf } from './quota.js';
import { hostKeyOf, makeSeed } from './seed.js';
import { deleteImage, downloadImage, listImages, uploadImage } from './uploads.js';
import { existsAlready, noDomain, Virsh } from './virsh.js';
import { Volumes, type Volume } from './volumes.js';

/** The end of a console that is read, in bytes. */
const longestConsole = 64 * 1_024;

/** Wait before the next check, in ms. */
const retryMs = 2_000;

/** Virtual machines whose disks are overlays of base volumes. */
export class LibvirtProvider extends Provider<LibvirtFields> implements Partial<ProviderAbilities> {
  static checkFields = conflictsOf;

  override async create(input: CreateInput): Promise<TaskResult> {
    const { fields, virsh, volumes } = this.#open();
    const identity = identify(input.key);
    const [size, image] = [readFlavor(input.flavor), readImage(input.image)];
    try {
      const domain = await domainOf(virsh, input.key);
      if (domain === undefined || mayBeHalfMade(domain, identity)) {
        const base = await volumes.base(image);
        requireFit(input, base);
        const log = consoleLogOf(fields, base, identity);
        const hostKey = hostKeyOf(fields, input.key);
        const xml = domainXml({
          identity,
          input,
          fields,
          size,
          hostKey: hostKey?.public,
          log,
          createdAt: new Date().toISOString(),
        });
        // Volumes carry no tags: the sweep finds those of a cut CREATE by the domain.
        if (domain === undefined)
          await virsh.run(['define', '/dev/stdin'], { input: xml, also: existsAlready });
        await volumes.makeLayer(identity.disk, base, size.disk ?? base.capacity);
        if (fields.cloudInit)
          await volumes.write(
            identity.seed,
            makeSeed(fields, { key: input.key, hostname: input.hostname, instance: identity.uuid }),
          );
        if (log !== undefined) await volumes.makeLog(identity.log);
      }
      await virsh.run(['start', identity.uuid], { also: existsAlready });
    } catch (error) {
      // After Capacity the engine assumes that nothing was made.
      if (error instanceof PluginError && error.kind === 'Capacity')
        await remove(virsh, volumes, fields, identity);
      throw error;
    }
    return { result: created(identity.uuid, fields.user) };
  }

  override async confirm({ key }: MachineInput): Promise<TaskResult> {
    const { fields, virsh } = this.#open();
    const domain = await domainOf(virsh, key);
    if (domain === undefined) throw notReady(`the domain of key ${key} does not exist`, retryMs);
    const { uuid, state, stateText } = domain;
    requireRunning({ what: `domain ${uuid}`, state, shown: stateText }, retryMs);
    const address = await this.#addressOf(virsh, domain, fields);
    return {
      result: {
        ipaddress: address,
        'ssh-port': fields.sshPort,
        'ssh-auth': sshAuthOf(domain.user, fields.privateKey),
        ...(domain.hostKey === undefined ? {} : { 'ssh-host-key': [domain.hostKey] }),
      },
    };
  }

  override async delete({ key }: MachineInput): Promise<void> {
    const { fields, virsh, volumes } = this.#open();
    await remove(virsh, volumes, fields, identify(key));
    if ((await domainOf(virsh, key)) !== undefined)
      throw notReady(`the domain of key ${key} still exists`, retryMs);
  }

  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    const domains = await listDomains(this.#open().virsh);
    return domains.filter((domain) => hasTags(domain.tags, tags)).map(machineOf);
  }

  async find(key: string): Promise<readonly Machine[]> {
    const domain = await domainOf(this.#open().virsh, key);
    if (domain === undefined) return [];
    if (mayBeHalfMade(domain, identify(key))) return [machineOf(domain)];
    return [{ ...machineOf(domain), created: created(domain.uuid, domain.user) }];
  }

  async consoleOutput({ key }: MachineInput): Promise<string | undefined> {
    const { virsh, volumes } = this.#open();
    const domain = await domainOf(virsh, key);
    const isKept = domain !== undefined && hasConsoleLog(domain.xml);
    return isKept ? volumes.readEnd(identify(key).log, longestConsole) : undefined;
  }

  /** Flavors are only parsed and volumes need not be images, so only the requested ones are checked. */
  async offers(wanted: WantedKind): Promise<AccountOffers> {
    const { volumes } = this.#open();
    let base: Volume | undefined;
    const image = await refusalOf(async () => {
      base = await volumes.base(readImage(wanted.image));
    });
    return { refused: { flavor: await refusalOf(() => requireFit(wanted, base)), image } };
  }

  /**
   * The memory of the host, and what running domains may use of it. Processors are not counted:
   * domains may be given more of them than there are.
   */
  async quota({ flavors }: WantedSizes): Promise<AccountQuota> {
    return { ...(await hostQuota(this.#open().virsh)), sizes: sizesOf(flavors) };
  }

  async powerStatus(machine: MachineInput): Promise<PowerReading> {
    return (await this.#power(machine)).status();
  }

  async powerOn(machine: MachineInput): Promise<Outcome> {
    return (await this.#power(machine)).on();
  }

  async powerOff(machine: MachineInput): Promise<Outcome> {
    return (await this.#power(machine)).off();
  }

  async powerReset(machine: MachineInput): Promise<Outcome> {
    return (await this.#power(machine)).reset();
  }

  async imageExists(input: ImageInput): Promise<Knowledge> {
    return imageExists(this.#open(), input.providerImage);
  }

  async imageSize(input: ImageInput): Promise<SizeReading> {
    return imageSize(this.#open(), input.providerImage);
  }

  async retrieveImage(input: ImageInput): Promise<Outcome> {
    return retrieveImage(this.#open(), input);
  }

  async load(input: ImageInput): Promise<Outcome> {
    return loadImage(this.#open(), input);
  }

  async capture(input: ImageInput): Promise<Outcome> {
    return captureImage(this.#open(), input);
  }

  /** Nothing that its user wrote is left: the machine has a new disk of the image that it had. */
  async unload({ key }: MachineInput): Promise<Outcome> {
    return renewDisk(this.#open(), key);
  }

  async assignedImage({ key }: MachineInput): Promise<string | undefined> {
    return (await domainOf(this.#open().virsh, key))?.image;
  }

  async uploadImage(input: ImageFileInput): Promise<Outcome & { readonly providerImage?: string }> {
    return uploadImage(this.#open(), input);
  }

  async listImages(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]> {
    return listImages(this.#open(), tags);
  }

  async downloadImage(input: ImageFileInput): Promise<Outcome> {
    return downloadImage(this.#open(), input);
  }

  async deleteImage(input: LibraryInput): Promise<Outcome> {
    return deleteImage(this.#open(), input);
  }

  /** The first serial port; the escape sequence ^] ends it. */
  async console({ providerid = '' }: MachineInput): Promise<ConsoleCommand> {
    const { fields, virsh } = this.#open();
    const domain = await domainWithId(virsh, providerid);
    if (domain === undefined) throw new PluginError('Invalid', `libvirt does not have domain ${providerid}`);
    return { command: [fields.program, '--connect', fields.uri, 'console', domain.uuid] };
  }

  async #addressOf(
    virsh: Virsh,
    { uuid, macs }: Domain,
    { addressFrom, addresses }: LibvirtFields,
  ): Promise<string> {
    if (addressFrom === 'fixed') {
      const { nodeId } = this.task;
      const address = addresses[nodeId];
      if (address === undefined)
        throw new PluginError(
          'Invalid',
          `addressFrom is fixed, but the field addresses has no address of ${nodeId}`,
        );
      return address;
    }
    // virsh reports a guest agent that does not run yet as an error.
    const { stdout } = await virsh.run(['domifaddr', uuid, '--full', '--source', addressFrom], {
      also: /guest agent|QEMU guest agent is not connected|Failed to query/i,
    });
    const address = readAddresses(stdout, macs);
    if (address === undefined) throw notReady(`domain ${uuid} has no address yet by ${addressFrom}`, retryMs);
    return address;
  }

  async #power({ key }: MachineInput): Promise<PowerDriver> {
    const { fields, virsh } = this.#open();
    const domain = await domainOf(virsh, key);
    if (domain === undefined)
      throw new PluginError('Invalid', `libvirt does not have a domain of key ${key}`);
    return powerDriverOf(virsh, domain.uuid, fields);
  }

  #open(): LibvirtAccount {
    const { fields } = this;
    const virsh = new Virsh(fields, this.signal, this.calls);
    return { fields, virsh, volumes: new Volumes(virsh, fields, fields.pool) };
  }
}

/** @throws PluginError Invalid for a malformed flavor, and for one with a smaller disk than the image. */
function requireFit({ flavor, image }: WantedKind, base: Volume | undefined): void {
  const { disk } = readFlavor(flavor);
  if (base === undefined || disk === undefined || disk >= base.capacity) return;
  throw new PluginError(
    'Invalid',
    `the flavor ${flavor} has a smaller disk than the image ${image}, which has ${Math.ceil(base.capacity / 1_024 ** 3)} GiB`,
  );
}

function created(uuid: string, user: string): JsonObject {
  return { providerid: uuid, 'ssh-auth': { user } };
}

function machineOf({ uuid, key, tags, state, createdAt }: Domain): Machine {
  return { providerid: uuid, key, tags, state, createdAt };
}

/**
 * Whether an earlier CREATE may have been cut after it defined the domain. A load gives a
 * domain other volumes.
 */
function mayBeHalfMade({ stateText, disk }: Domain, identity: Identity): boolean {
  return stateText === 'shut off' && disk === identity.disk;
}

/** Where QEMU writes the console: a file in the folder of the pool, which libvirt reads as a volume. */
function consoleLogOf({ hypervisor }: LibvirtFields, base: Volume, { log }: Identity): string | undefined {
  return base.isFile && hypervisor !== 'test' ? posix.join(posix.dirname(base.path), log) : undefined;
}

/**
 * Removes the volumes and then the domain, by which the sweep finds what a cut DELETE left. Any
 * of them may be absent.
 */
async function remove(
  virsh: Virsh,
  volumes: Volumes,
  { hypervisor }: LibvirtFields,
  identity: Identity,
): Promise<void> {
  const { uuid } = identity;
  await virsh.run(['destroy', uuid], { also: noDomain });
  // libvirt's log daemon renames a console that is long, and libvirt has not seen the new names.
  if ((await volumes.ofMachine(identity)).includes(identity.log)) {
    await volumes.refresh();
    // Left by a DELETE whose refresh libvirt refused.
    for (const log of await volumes.lostLogs()) await volumes.delete(log);
  }
  for (const volume of await volumes.ofMachine(identity)) await volumes.delete(volume);
  await virsh.run(
    [
      'undefine',
      uuid,
      '--managed-save',
      '--snapshots-metadata',
      ...(hypervisor === 'test' ? [] : ['--nvram']),
    ],
    { also: noDomain },
  );
}
