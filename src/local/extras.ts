import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { ApiError } from './errors.js';
import { readJsonFile, sortedEntries, writeJsonFile } from './files.js';

export const extraKinds = ['volumes', 'addresses'] as const;
export type ExtraKind = (typeof extraKinds)[number];

/**
 * Cloud resources besides machines. The service stores, counts and attaches them; it mounts and routes
 * nothing.
 */
const extraSchema = z.object({
  id: z.string(),
  kind: z.enum(extraKinds),
  token: z.string(),
  requestDigest: z.string(),
  key: z.string(),
  tags: z.record(z.string(), z.string()),
  sizeGb: z.number().optional(),
  /** Of the machine that it is attached to. */
  machine: z.string().optional(),
  createdAt: z.string(),
});
type Extra = z.infer<typeof extraSchema>;

const text = z.string().min(1).max(512);
export const makeExtraSchema = z.strictObject({
  key: text,
  token: z.string().min(8).max(128),
  tags: z.record(z.string().min(1).max(128), z.string().max(512)).default({}),
  sizeGb: z.int().min(1).max(10_000).optional(),
});
export const attachSchema = z.strictObject({ machine: text });

/** Volumes and addresses. One that is attached to an existing machine cannot be deleted. */
export class Extras {
  readonly #file: string;
  readonly #isThere: (machine: string) => boolean;
  #all: readonly Extra[];

  constructor(dataFolder: string, isThere: (machine: string) => boolean) {
    this.#file = join(dataFolder, 'extras.json');
    this.#isThere = isThere;
    this.#all = readJsonFile(this.#file, z.array(extraSchema)) ?? [];
  }

  make(
    kind: ExtraKind,
    request: z.infer<typeof makeExtraSchema>,
  ): { readonly status: 200 | 201; readonly body: object } {
    const { key, token, tags, sizeGb } = request;
    const requestDigest = createHash('sha256')
      .update(JSON.stringify([kind, key, sizeGb ?? 0, sortedEntries(tags)]))
      .digest('hex');
    const known = this.#all.find((extra) => extra.kind === kind && extra.token === token);
    if (known !== undefined && known.requestDigest !== requestDigest)
      throw new ApiError('IdempotencyMismatch', `This token made ${known.id} with other parameters.`);
    if (known !== undefined) return { status: 200, body: shown(known) };
    const made: Extra = {
      id: `${kind === 'volumes' ? 'v' : 'a'}-${randomBytes(6).toString('hex')}`,
      kind,
      token,
      requestDigest,
      key,
      tags,
      createdAt: new Date().toISOString(),
      sizeGb,
    };
    this.#save([...this.#all, made]);
    return { status: 201, body: shown(made) };
  }

  list(kind: ExtraKind, key: string | undefined): object {
    return {
      [kind]: this.#all
        .filter((extra) => extra.kind === kind && (key === undefined || extra.key === key))
        .map(shown),
    };
  }

  attach(kind: ExtraKind, id: string, machine: string): object {
    const extra = this.#existing(kind, id);
    if (!this.#isThere(machine)) throw new ApiError('NotFound', `Machine ${machine} does not exist.`);
    if (this.#isAttached(extra) && extra.machine !== machine)
      throw new ApiError('Conflict', `${id} is attached to ${extra.machine}.`);
    this.#save(this.#all.map((one) => (one.id === id ? { ...one, machine } : one)));
    return shown({ ...extra, machine });
  }

  remove(kind: ExtraKind, id: string): object {
    const extra = this.#existing(kind, id);
    if (this.#isAttached(extra))
      throw new ApiError('Conflict', `${id} is attached to machine ${extra.machine}; delete that first.`);
    this.#save(this.#all.filter((one) => one.id !== id));
    return { id };
  }

  #existing(kind: ExtraKind, id: string): Extra {
    const extra = this.#all.find((one) => one.kind === kind && one.id === id);
    if (extra === undefined) throw new ApiError('NotFound', `${id} does not exist in ${kind}.`);
    return extra;
  }

  #isAttached({ machine }: Extra): boolean {
    return machine !== undefined && this.#isThere(machine);
  }

  #save(all: readonly Extra[]): void {
    writeJsonFile(this.#file, all);
    this.#all = all;
  }
}

function shown({ token: _token, requestDigest: _digest, kind: _kind, ...extra }: Extra): object {
  return extra;
}
