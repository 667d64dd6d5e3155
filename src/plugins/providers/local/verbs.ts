import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import {
  PluginError,
  type ImageInput,
  type Knowledge,
  type Outcome,
  type PowerReading,
  type SizeReading,
} from '../../contract.js';
import type { LocalApi } from './api.js';

/** Poll interval for a changing machine, in ms. */
const everyMs = 150;

const stateSchema = z.object({ state: z.string(), reason: z.string().optional(), image: z.string() });
const jobSchema = z.object({
  job: z
    .object({
      token: z.string(),
      state: z.enum(['running', 'done', 'failed']),
      reason: z.string().optional(),
    })
    .nullable(),
});
const imageSchema = z.object({ sizeBytes: z.number() });

/** Operations of the machine service on existing machines. */
export class LocalVerbs {
  readonly #api: LocalApi;
  readonly #signal: AbortSignal;
  readonly #machine: { readonly id: string; readonly key: string };

  constructor(api: LocalApi, signal: AbortSignal, machine: { readonly id: string; readonly key: string }) {
    this.#api = api;
    this.#signal = signal;
    this.#machine = machine;
  }

  async powerStatus(): Promise<PowerReading> {
    const seen = await this.#read();
    if (seen === undefined)
      return { power: 'unknown', why: 'the machine does not exist at the machine service' };
    if (seen.state === 'deleting') return { power: 'unknown', why: 'the machine is being deleted' };
    return { power: isOff(seen.state) ? 'off' : 'on' };
  }

  async assignedImage(): Promise<string | undefined> {
    return (await this.#read())?.image;
  }

  powerOn(): Promise<Outcome> {
    return this.#bring('on', (state) => state === 'running', isOff);
  }

  powerOff(): Promise<Outcome> {
    return this.#bring(
      'off',
      (state) => state === 'stopped',
      (state) => state !== 'stopped',
    );
  }

  async imageExists(image: string): Promise<Knowledge> {
    const answer = await this.#api.call(z.unknown(), { method: 'GET', path: imagePath(image) });
    return { is: answer.found ? 'yes' : 'no' };
  }

  async imageSize(image: string): Promise<SizeReading> {
    const answer = await this.#api.call(imageSchema, { method: 'GET', path: imagePath(image) });
    return answer.found
      ? { sizeMb: Math.ceil(answer.body.sizeBytes / 2 ** 20) }
      : { why: `the machine service does not have image ${image}` };
  }

  /** The same token means the same job: a repeated call only waits for it. */
  async job(
    kind: 'load' | 'capture',
    { providerImage, token, progress, imageTags = {} }: ImageInput,
  ): Promise<Outcome> {
    const tag = tagWords(imageTags);
    const begun = await this.#api.call(z.unknown(), {
      method: 'POST',
      path: this.#path(`/${kind}`),
      body: { image: providerImage, token, tag: tag.length === 0 ? undefined : tag },
    });
    if (!begun.found && kind === 'load' && (await this.imageExists(providerImage)).is === 'no')
      throw new PluginError('ImageUnusable', `the machine service does not have image ${providerImage}`);
    if (!begun.found)
      return {
        answer: 'not done',
        why: `the machine service does not have this machine, or does not have image ${providerImage}`,
      };
    for (;;) {
      const answer = await this.#api.call(jobSchema, { method: 'GET', path: this.#path('/job') });
      const job = answer.found ? answer.body.job : null;
      if (job?.token !== token)
        return { answer: 'unknown', why: `the machine service no longer knows this ${kind}` };
      if (job.state === 'done') return { answer: 'done' };
      if (job.state === 'failed')
        return { answer: kind === 'capture' ? 'not done' : 'unknown', why: job.reason ?? 'no reason given' };
      progress(`${kind} of ${providerImage} continues`);
      await this.#pause();
    }
  }

  async #bring(
    power: 'on' | 'off',
    isThere: (state: string) => boolean,
    needsCommand: (state: string) => boolean,
  ): Promise<Outcome> {
    let seen = await this.#read();
    if (seen !== undefined && needsCommand(seen.state)) {
      await this.#api.call(z.unknown(), { method: 'POST', path: this.#path('/power'), body: { power } });
      seen = await this.#read();
    }
    for (; ; seen = await this.#read()) {
      if (seen === undefined || seen.state === 'deleting')
        return { answer: 'not done', why: 'the machine does not exist at the machine service' };
      if (isThere(seen.state)) return { answer: 'done' };
      if (seen.state === 'failed') return { answer: 'not done', why: seen.reason ?? 'the machine failed' };
      await this.#pause();
    }
  }

  async #read(): Promise<z.infer<typeof stateSchema> | undefined> {
    const answer = await this.#api.call(stateSchema, { method: 'GET', path: this.#path() });
    return answer.found ? answer.body : undefined;
  }

  #path(call = ''): string {
    return machinePath(this.#machine.id, this.#machine.key, call);
  }

  async #pause(): Promise<void> {
    await pause(everyMs, undefined, { signal: this.#signal });
  }
}

/** As the service takes tags. */
export function tagWords(tags: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(tags).map(([name, value]) => `${name}=${value}`);
}

/** With the key, the service acts only on the machine that was made with it. */
export function machinePath(id: string, key: string, call = ''): string {
  return `/v1/machines/${encodeURIComponent(id)}${call}?${new URLSearchParams({ key }).toString()}`;
}

export function imagePath(image: string): string {
  // The service reads the path as it is.
  return `/v1/images/${encodeURIComponent(image).replaceAll('%40', '@')}`;
}

function isOff(state: string): boolean {
  return state === 'stopped' || state === 'failed';
}
