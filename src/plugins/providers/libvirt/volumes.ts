import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { PluginError } from '../../contract.js';
import type { LibvirtFields } from './field-types.js';
import { isLostLog, isVolumeOf, type Identity } from './identity.js';
import { absent, existsAlready, type Virsh } from './virsh.js';
import { elementsAt, escapeXml, parseXml, textAt } from './xml.js';

export interface Volume {
  readonly path: string;
  readonly format: string;
  /** In a folder of the host, not a block device or on a network. */
  readonly isFile: boolean;
  /** In bytes: what a machine sees, and what it takes. */
  readonly capacity: number;
  readonly allocated: number;
  /** Path of the volume that it is a layer on. */
  readonly backing?: string;
}

/** "failed to get vol" alone may mean that its pool is switched off. */
const noVolume = /^error: Storage volume not found/i;

/** The volumes of one storage pool. */
export class Volumes {
  readonly #virsh: Virsh;
  readonly #pool: string;
  readonly #emulated: boolean;

  constructor(virsh: Virsh, { hypervisor }: Pick<LibvirtFields, 'hypervisor'>, pool: string) {
    this.#virsh = virsh;
    this.#pool = pool;
    this.#emulated = hypervisor === 'test';
  }

  async find(name: string): Promise<Volume | undefined> {
    const { stdout, ok } = await this.#virsh.run(['vol-dumpxml', '--pool', this.#pool, name], {
      also: noVolume,
    });
    if (!ok) return undefined;
    const xml = parseXml(stdout.trim());
    const [path, format] = [
      textAt(xml, 'target', 'path'),
      elementsAt(xml, 'target', 'format')[0]?.attributes['type'],
    ];
    const [capacity, allocated] = [Number(textAt(xml, 'capacity')), Number(textAt(xml, 'allocation') ?? 0)];
    if (
      path === undefined ||
      format === undefined ||
      !Number.isSafeInteger(capacity) ||
      capacity < 0 ||
      !Number.isSafeInteger(allocated)
    ) {
      throw new PluginError('Retryable', `virsh reports neither path, format nor size of volume ${name}`);
    }
    const backing = textAt(xml, 'backingStore', 'path');
    const isFile = xml.attributes['type'] === 'file';
    return { path, format, isFile, capacity, allocated, backing: backing === '' ? undefined : backing };
  }

  /** What machines' disks are made of. @throws PluginError Invalid, and NotReady while it is being made. */
  async base(image: string): Promise<Volume> {
    const volume = await this.find(image);
    if (volume === undefined)
      throw new PluginError('Invalid', `image ${image} is not a volume of storage pool ${this.#pool}`);
    if (await this.isBeingMade(image))
      throw new PluginError('NotReady', `image ${image} is still being created`);
    return volume;
  }

  /** Whether libvirt still writes it. Only then it refuses to give a byte of it. */
  async isBeingMade(name: string): Promise<boolean> {
    // The test driver gives none, and its volumes are there at once.
    if (this.#emulated) return false;
    const read = await this.#virsh.run(
      ['vol-download', '--pool', this.#pool, name, '/dev/null', '--offset', '0', '--length', '1'],
      { also: /still being allocated/i },
    );
    return !read.ok;
  }

  /**
   * A layer that contains only the difference to its base. An incomplete one is created again: no machine
   * uses it yet.
   */
  async makeLayer(name: string, base: Volume, bytes: number): Promise<void> {
    const xml = `<volume><name>${name}</name><capacity unit='bytes'>${bytes}</capacity><target><format type='qcow2'/><compat>1.1</compat></target><backingStore><path>${escapeXml(base.path)}</path><format type='${escapeXml(base.format)}'/></backingStore></volume>\n`;
    if ((await this.#make(xml)).ok) return;
    const there = await this.find(name);
    if (there?.backing === base.path && there.capacity >= bytes) return;
    await this.delete(name);
    await this.#make(xml);
  }

  /** Written again by each attempt: the one before may have been cut off in the middle. */
  async write(name: string, content: Buffer): Promise<void> {
    const { length } = content;
    await this.#make(
      `<volume><name>${name}</name><capacity unit='bytes'>${length}</capacity><allocation unit='bytes'>${length}</allocation><target><format type='raw'/></target></volume>\n`,
    );
    await this.#virsh.run(['vol-upload', '--pool', this.#pool, name, '/dev/stdin'], { input: content });
  }

  /**
   * A new volume with the content of a disk's file. @throws PluginError Retryable if there is
   * one of that name.
   */
  async make(
    name: string,
    disk: { readonly format: string; readonly capacity: number; readonly content: Readable },
  ): Promise<void> {
    const { format, capacity, content } = disk;
    const { ok } = await this.#make(
      `<volume><name>${name}</name><capacity unit='bytes'>${capacity}</capacity><allocation unit='bytes'>0</allocation><target><format type='${format}'/></target></volume>\n`,
    );
    if (!ok) throw new PluginError('Retryable', `another process is creating volume ${name}`);
    await this.#virsh.run(['vol-upload', '--pool', this.#pool, name, '/dev/stdin'], { input: content });
  }

  /** Its bytes, as they are stored; a volume may be longer than what was written into it. */
  async read(name: string, take: (content: Readable) => Promise<void>, bytes?: number): Promise<void> {
    const length = bytes === undefined ? [] : ['--length', String(bytes)];
    await this.#virsh.run(['vol-download', '--pool', this.#pool, name, '/dev/stdout', ...length], {
      output: take,
    });
  }

  /** What needs the volume: a layer on it in its pool, or a domain that has it as a disk. */
  async userOf(name: string): Promise<string | undefined> {
    const volume = await this.find(name);
    if (volume === undefined) return undefined;
    const others = (await this.#names()).filter((other) => isWord(other));
    const volumes = await this.#each(others.map((other) => `vol-dumpxml --pool ${this.#pool} ${other}`));
    const layer = others.find((_other, index) => {
      const xml = volumes[index]?.trim() ?? '';
      return xml !== '' && textAt(parseXml(xml), 'backingStore', 'path') === volume.path;
    });
    if (layer !== undefined) return `the volume ${layer}`;
    const { stdout, errors } = await this.#virsh.batch(['list --all --uuid']);
    if (errors.length > 0) this.#virsh.fail(errors);
    const domains = stdout.split(/\s+/).filter((uuid) => isWord(uuid));
    const disks = await this.#each(domains.map((uuid) => `domblklist ${uuid} --inactive`));
    const domain = domains.find((_uuid, index) =>
      disks[index]?.split(/\s+/).some((word) => word === volume.path || word === name),
    );
    return domain === undefined ? undefined : `domain ${domain}`;
  }

  /** What each command answers, on one connection; nothing for what disappeared meanwhile. */
  async #each(commands: readonly string[]): Promise<readonly string[]> {
    if (commands.length === 0) return [];
    const mark = `heddle-${randomUUID()}`;
    const { stdout, errors } = await this.#virsh.batch(
      commands.flatMap((command) => [`echo ${mark}`, command]),
    );
    const wrong = errors.filter((line) => !absent.test(line));
    if (wrong.length > 0) this.#virsh.fail(wrong);
    return stdout.split(mark).slice(1);
  }

  /** Makes a place for the console of a machine, which libvirt reads as a volume. */
  async makeLog(name: string): Promise<void> {
    await this.#make(
      `<volume><name>${name}</name><capacity unit='bytes'>0</capacity><target><format type='raw'/></target></volume>\n`,
    );
  }

  /** The last bytes of a file; undefined if it does not exist, or is empty. */
  async readEnd(name: string, most: number): Promise<string | undefined> {
    const { capacity = 0 } = (await this.find(name)) ?? {};
    if (capacity === 0) return undefined;
    const folder = await mkdtemp(join(tmpdir(), 'heddle-console-'));
    try {
      // virsh opens a file by its name, which it cannot do with the socket that is its output.
      const file = join(folder, 'end');
      const offset = String(Math.max(0, capacity - most));
      await this.#virsh.run(['vol-download', '--pool', this.#pool, name, file, '--offset', offset]);
      return await readFile(file, 'utf8');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Lets libvirt see files that appeared in the folder. Refused while it writes a volume. */
  async refresh(): Promise<void> {
    await this.#virsh.run(['pool-refresh', this.#pool], { also: /asynchronous jobs/i });
  }

  /** The whole of another volume, without the layers below it. False where there is one of that name. */
  async copy(
    name: string,
    from: { readonly pool: string; readonly name: string; readonly capacity: number },
  ): Promise<boolean> {
    const xml = `<volume><name>${name}</name><capacity unit='bytes'>${from.capacity}</capacity><target><format type='qcow2'/><compat>1.1</compat></target></volume>\n`;
    return (
      await this.#virsh.run(
        ['vol-create-from', this.#pool, '/dev/stdin', from.name, '--inputpool', from.pool],
        { input: xml, also: existsAlready },
      )
    ).ok;
  }

  /** It may be gone already. */
  async delete(name: string): Promise<void> {
    await this.#virsh.run(['vol-delete', '--pool', this.#pool, name], { also: noVolume });
  }

  /** Of all loads that a machine had. */
  async ofMachine(identity: Identity): Promise<readonly string[]> {
    return (await this.#names()).filter((name) => isVolumeOf(identity, name));
  }

  /** Earlier parts of the consoles of deleted machines. */
  async lostLogs(): Promise<readonly string[]> {
    const names = await this.#names();
    return names.filter((name) => isLostLog(name, names));
  }

  async #names(): Promise<readonly string[]> {
    const { stdout, errors } = await this.#virsh.batch([`vol-list --pool ${this.#pool}`]);
    if (errors.length > 0) this.#virsh.fail(errors);
    return stdout.split('\n').flatMap((line) => line.trim().split(/\s+/)[0] || []);
  }

  async #make(xml: string): Promise<{ readonly ok: boolean }> {
    return this.#virsh.run(['vol-create', this.#pool, '/dev/stdin'], { input: xml, also: existsAlready });
  }
}

/** Whether virsh takes it unquoted. Images, disks and seeds of ours have such names. */
function isWord(name: string): boolean {
  return /^[\w.][\w.+:@-]*$/.test(name);
}
