import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { ApiError, messageOf } from '../errors.js';
import type { Inventory } from '../inventory.js';
import type { Journal } from '../journal.js';
import type { Kind } from '../kinds/kind.js';
import { imageNamePattern, isHost, type Library, type Received } from './library.js';
import type { Logger } from 'pino';
import type { Job, KindName, MachineRecord } from '../machine.js';
import type { Power } from '../power.js';

const tagsSchema = z
  .array(
    z
      .string()
      .max(1_024)
      .regex(/^[^=]+=/, { error: 'must be written NAME=VALUE' }),
  )
  .max(50)
  .default([]);
const image = z.string().regex(imageNamePattern, { error: 'must be a name, or name@revision' });
/** `tag`: of an image that is captured. */
export const imageJobSchema = z.strictObject({ image, token: z.string().min(8).max(512), tag: tagsSchema });
export type ImageJobRequest = z.infer<typeof imageJobSchema>;
export const imagesSchema = z.strictObject({ tag: tagsSchema });
export const uploadSchema = z.strictObject({
  token: z.string().min(8).max(512),
  gzip: z.enum(['true', 'false']).default('false'),
  tag: tagsSchema,
});
export type UploadRequest = z.infer<typeof uploadSchema>;

export interface ImagingParts {
  readonly inventory: Inventory;
  readonly journal: Journal;
  readonly library: Library;
  readonly kinds: ReadonlyMap<KindName, Kind>;
  readonly power: Power;
  readonly log: Logger;
  /** Minimum duration of a write in ms. */
  readonly writeDelayMs: number;
}

/** Loads images onto machines that are off, and captures images of them; one job per machine at a time. */
export class Imaging {
  readonly #parts: ImagingParts;
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(parts: ImagingParts) {
    this.#parts = parts;
  }

  /** Restarts the jobs that a power cut interrupted. */
  restore(): void {
    for (const machine of this.#parts.inventory.all())
      if (machine.job?.state === 'running') this.#start(machine.id, machine.job);
  }

  begin(id: string, kind: Job['kind'], request: ImageJobRequest): object {
    const machine = this.#existing(id);
    const known = machine.job?.token === request.token ? machine.job : undefined;
    if (known !== undefined) {
      if (known.kind !== kind || known.image !== request.image)
        throw new ApiError('IdempotencyMismatch', `This token was used for ${known.kind} of ${known.image}.`);
      this.#note(kind, machine, { repeated: true });
      return known;
    }
    if (machine.job?.state === 'running')
      throw new ApiError(
        'Conflict',
        `Machine ${id} is busy with ${machine.job.kind} of ${machine.job.image}.`,
      );
    if (machine.state !== 'stopped')
      throw new ApiError('Conflict', `Machine ${id} is ${machine.state}; switch it off first.`);
    this.#check(machine, kind, request);
    const job: Job = {
      kind,
      image: request.image,
      token: request.token,
      tags: tagsOf(request.tag),
      state: 'running',
    };
    this.#parts.inventory.update(id, { job });
    this.#note(kind, machine);
    this.#start(id, job);
    return job;
  }

  job(id: string): object {
    return { job: this.#existing(id).job ?? null };
  }

  show(name: string): object {
    const facts = this.#parts.library.get(name);
    if (isHost(name)) return { image: name, sizeBytes: 0 };
    if (facts === undefined) throw new ApiError('NotFound', `Image ${name} does not exist.`);
    const { image: named, kind, base, sizeBytes, createdAt } = facts;
    return { image: named, kind, base, sizeBytes, createdAt };
  }

  /** Images that were sent, or captured, with all of these tags. */
  list(tag: readonly string[]): object {
    const { library } = this.#parts;
    const wanted = Object.entries(tagsOf(tag));
    const images = library
      .names()
      .flatMap((name) => library.get(name) ?? [])
      .filter(({ tags }) => wanted.length > 0 && wanted.every(([name, value]) => tags[name] === value));
    return { images: images.map(({ image: name, tags, createdAt }) => ({ image: name, tags, createdAt })) };
  }

  /** The file of an image: what differs from the host, as a tar archive. */
  pack(name: string): Readable {
    const facts = this.#parts.library.get(name);
    if (facts === undefined)
      throw new ApiError(
        'NotFound',
        `Image ${name} does not exist${isHost(name) ? ' as a captured image' : ''}.`,
      );
    return this.#parts.library.pack(name, facts.kind);
  }

  /** Unpacks an upload; `take` publishes it under its name. */
  async receive(
    name: string,
    { token, gzip }: UploadRequest,
    archive: Readable,
  ): Promise<Received | undefined> {
    if (this.#isSame(name, token)) {
      archive.resume();
      return undefined;
    }
    return this.#parts.library.receive(name, archive, gzip === 'true').catch((error: unknown) => {
      throw new ApiError('BadRequest', `Image ${name} was not accepted: ${messageOf(error)}.`, {
        cause: error,
      });
    });
  }

  take(name: string, { token, tag }: UploadRequest, received: Received | undefined): object {
    const { library } = this.#parts;
    // Two of one token may have been under way.
    if (received !== undefined && this.#isSame(name, token)) library.refuse(received);
    else if (received !== undefined) library.take(received, name, { token, tags: tagsOf(tag) });
    this.#parts.journal.append({
      operation: 'upload',
      id: name,
      hostname: name,
      key: token,
      repeated: received === undefined ? true : undefined,
    });
    return this.show(name);
  }

  /** @throws ApiError where there is another one of this name. */
  #isSame(name: string, token: string): boolean {
    if (!imageNamePattern.test(name) || isHost(name))
      throw new ApiError('BadRequest', `'${name}' is not a valid image name.`);
    const facts = this.#parts.library.get(name);
    if (facts === undefined || facts.token === token) return facts !== undefined;
    throw new ApiError('Conflict', `Image ${name} already exists.`);
  }

  remove(name: string): void {
    const { inventory, library } = this.#parts;
    if (library.get(name) === undefined) throw new ApiError('NotFound', `Image ${name} does not exist.`);
    const users = inventory
      .all()
      .filter((machine) => machine.image === name)
      .map(({ id }) => id);
    if (users.length > 0) throw new ApiError('Conflict', `Image ${name} is in use by ${users.join(', ')}.`);
    library.remove(name);
    this.#parts.journal.append({ operation: 'delete-image', id: name });
  }

  /** Interrupted jobs continue at the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  #check(machine: MachineRecord, kind: Job['kind'], { image: name }: ImageJobRequest): void {
    const { library } = this.#parts;
    const facts = library.get(name);
    if (kind === 'capture') {
      if (library.isKnown(name)) throw new ApiError('Conflict', `Image ${name} already exists.`);
      return;
    }
    if (!library.isKnown(name))
      throw new ApiError('NotFound', `Image ${name} does not exist. Known: ${library.names().join(', ')}.`);
    if (facts !== undefined && facts.kind !== machine.kind)
      throw new ApiError(
        'Conflict',
        `Image ${name} was captured on a ${facts.kind}, and machine ${machine.id} is a ${machine.kind}.`,
      );
  }

  #start(id: string, job: Job): void {
    const work = this.#carryOut(id, job).finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  async #carryOut(id: string, job: Job): Promise<void> {
    const { inventory, power, log, writeDelayMs } = this.#parts;
    const stopping = this.#stopping.signal;
    try {
      if (writeDelayMs > 0) await sleep(writeDelayMs, undefined, { signal: stopping });
      await power.whenOff(id);
      await (job.kind === 'load' ? this.#write(id, job) : this.#capture(id, job));
      inventory.update(id, { job: { ...job, state: 'done' } });
    } catch (error) {
      if (stopping.aborted) return;
      log.warn({ machine: id }, `${job.kind} of ${job.image} on machine ${id} failed: ${messageOf(error)}`);
      inventory.update(id, { job: { ...job, state: 'failed', reason: messageOf(error) } });
    }
  }

  async #write(id: string, { image: name }: Job): Promise<void> {
    const { inventory, kinds } = this.#parts;
    const folder = inventory.folderOf(id);
    for (const disk of ['disk', 'disk.new']) await rm(join(folder, disk), { recursive: true, force: true });
    const machine = inventory.update(id, { image: name });
    if (machine !== undefined) await kinds.get(machine.kind)?.build(machine, folder);
  }

  async #capture(id: string, { image: name, token, tags }: Job): Promise<void> {
    const { inventory, library, kinds } = this.#parts;
    const machine = inventory.get(id);
    // The image is complete, but its end was not recorded.
    if (machine === undefined || library.get(name)?.token === token) return;
    const disk = await kinds.get(machine.kind)?.build(machine, inventory.folderOf(id));
    if (disk !== undefined)
      await library.capture(disk, { image: name, kind: machine.kind, base: machine.image, token, tags });
  }

  #existing(id: string): MachineRecord {
    const machine = this.#parts.inventory.get(id);
    if (machine === undefined || machine.state === 'deleting')
      throw new ApiError('NotFound', `Machine ${id} does not exist.`);
    return machine;
  }

  #note(
    operation: Job['kind'],
    { id, hostname, key }: MachineRecord,
    more: { readonly repeated?: true } = {},
  ): void {
    this.#parts.journal.append({ operation, id, hostname, key, ...more });
  }
}

function tagsOf(written: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    written.map((tag) => [tag.slice(0, tag.indexOf('=')), tag.slice(tag.indexOf('=') + 1)]),
  );
}
