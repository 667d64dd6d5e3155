import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { endDetached, runDetached, type RunEnd } from '../../../detached/detached-run.js';
import type { TaskResult } from '../../../model/node/task.js';
import { ClaimingProvider, programExits, runCommand } from '../../bare-metal/index.js';
import {
  PluginError,
  type CurrentReading,
  type ImageInput,
  type Knowledge,
  type LibraryInput,
  type MachineInput,
  type Outcome,
  type PluginContext,
  type SizeReading,
  type UploadedImage,
  type ProviderAbilities,
} from '../../contract.js';
import { hasTags } from '../../provider-base/machines.js';
import type { ServiceFields } from './field-types.js';
import { faultsOfAccount, readResources, type Resource } from './fields.js';
import { dataIn, Library } from './library.js';
import { answerOf, describeExit, fillCommand, imageAnswerOf, readCurrent, type Words } from './program.js';

const megabyte = 1_048_576;

/**
 * Running services: they have no login, and their configuration is their content. CREATE claims a free
 * one, DELETE releases it. The programs of the account know the service; images are files of a folder that
 * this provider keeps itself.
 */
export class ServiceProvider
  extends ClaimingProvider<Resource, ServiceFields>
  implements Partial<ProviderAbilities>
{
  static checkFields = faultsOfAccount;

  protected readonly word = 'resource';
  protected readonly named = this.fields.resource;
  private readonly detach: AbortSignal | undefined;

  constructor(context: PluginContext) {
    super(context);
    this.detach = context.detach;
  }

  /** Says whose it is; the engine then asks whether it can be reached. */
  override async confirm(input: MachineInput): Promise<TaskResult> {
    await this.own(input);
    return { result: {} };
  }

  async reach(input: MachineInput): Promise<Knowledge> {
    const { code, said } = await this.ask('reach', await this.own(input));
    if (code === programExits.yes) return { is: 'yes' };
    return { is: code === programExits.no ? 'no' : 'unknown', why: said };
  }

  async currentImage(input: MachineInput): Promise<CurrentReading> {
    const { code, stdout, said } = await this.ask('current', await this.own(input));
    return readCurrent(code, stdout, said);
  }

  async isAsImage(input: ImageInput): Promise<Knowledge | undefined> {
    const resource = await this.own(input);
    if (this.fields.programs.check === undefined) return undefined;
    const found = await this.library().find(input.providerImage);
    if (found.is !== 'yes')
      return {
        is: 'unknown',
        why:
          found.is === 'no'
            ? `image ${input.providerImage} does not exist, so it cannot be compared`
            : found.why,
      };
    const { code, said } = await this.ask('check', resource, { ...aboutOf(input), file: found.file });
    if (code === programExits.yes) return { is: 'yes' };
    return { is: code === programExits.no ? 'no' : 'unknown', why: said };
  }

  async taint(
    input: MachineInput,
    { reason, at }: { readonly reason: string; readonly at: string },
  ): Promise<Outcome> {
    const resource = await this.own(input);
    if (this.fields.programs.taint === undefined)
      return { answer: 'not done', why: 'the account has no program taint; add it in heddle.yaml' };
    const { code, said } = await this.ask('taint', resource, { reason, at });
    return answerOf(code, said);
  }

  async imageExists({ providerImage }: ImageInput): Promise<Knowledge> {
    const found = await this.library().find(providerImage);
    return found.is === 'unknown' ? { is: found.is, why: found.why } : { is: found.is };
  }

  async imageSize({ providerImage }: ImageInput): Promise<SizeReading> {
    const found = await this.library().find(providerImage);
    if (found.is !== 'yes')
      return { why: found.is === 'no' ? `image ${providerImage} does not exist` : found.why };
    return { sizeMb: Math.ceil(found.record.bytes / megabyte) };
  }

  async load(input: ImageInput): Promise<Outcome> {
    const resource = await this.own(input);
    const library = this.library();
    const found = await library.find(input.providerImage);
    if (found.is === 'unknown' && found.isBroken === true) throw new PluginError('ImageUnusable', found.why);
    if (found.is === 'unknown') return { answer: 'unknown', why: found.why };
    if (found.is === 'no')
      throw new PluginError(
        'ImageUnusable',
        `image ${input.providerImage} does not exist in the folder of provider ${this.account}`,
      );
    const fault = await library.check(found, this.signal);
    if (fault !== undefined) throw new PluginError('ImageUnusable', fault);
    const { code, lastLine } = await this.run('load', resource, input, () => found.file);
    return imageAnswerOf(code, describeExit(code, lastLine));
  }

  async capture(input: ImageInput): Promise<Outcome> {
    const { providerImage, token } = input;
    const resource = await this.own(input);
    const library = this.library();
    const before = await this.madeBy(input);
    if (before !== undefined) return before;
    const { code, lastLine, directory } = await this.run('capture', resource, input, (folder) =>
      dataIn(join(folder, 'image')),
    );
    const folder = join(directory, 'image');
    if (code !== programExits.yes) {
      await rm(folder, { recursive: true, force: true });
      return imageAnswerOf(code, describeExit(code, lastLine));
    }
    const size = await stat(dataIn(folder)).then(
      (found) => found.size,
      () => undefined,
    );
    if (size === 0)
      return { answer: 'not done', why: 'program capture succeeded but wrote nothing into its file' };
    const about = {
      token,
      resource: resource.name,
      tags: { ...input.imageTags },
      createdAt: new Date().toISOString(),
    };
    // A concurrent earlier attempt may have created the image.
    const isPut =
      size === undefined
        ? undefined
        : await library.put(folder, providerImage, about, this.signal).catch((error: unknown) => {
            this.log.warn(`the image was not moved into its folder: ${String(error)}`);
          });
    if (isPut === true) return { answer: 'done' };
    return (
      (await this.madeBy(input)) ?? {
        answer: 'unknown',
        why:
          size === undefined
            ? 'program capture succeeded, but its file does not exist'
            : 'the captured file could not be moved into the folder of images',
      }
    );
  }

  async endRun(input: MachineInput): Promise<Outcome> {
    await this.settle((await this.own(input)).name);
    return { answer: 'done' };
  }

  /** A captured file that did not become an image goes, too. */
  protected override async settle(resource: string): Promise<void> {
    const runs = this.runsOf(resource);
    await endDetached(runs);
    const left = await readdir(runs, { withFileTypes: true }).catch(() => []);
    for (const run of left.filter((entry) => entry.isDirectory()))
      await rm(join(runs, run.name, 'image'), { recursive: true, force: true });
  }

  async listImages(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]> {
    const images = await this.library().list();
    return images
      .filter(({ record }) => hasTags(record.tags, tags))
      .map(({ name, record }) => ({ providerImage: name, tags: record.tags, createdAt: record.createdAt }));
  }

  async deleteImage({ providerImage }: LibraryInput): Promise<Outcome> {
    await this.library().delete(providerImage);
    return { answer: 'done' };
  }

  private get account(): string {
    return this.task.provider.name;
  }

  private library(): Library {
    return new Library(this.fields.folder);
  }

  protected async things(): Promise<readonly Resource[]> {
    return readResources(this.fields, this.account);
  }

  /** The state of a capture's target; undefined if there certainly is none. */
  private async madeBy({ providerImage, token }: ImageInput): Promise<Outcome | undefined> {
    const found = await this.library().find(providerImage);
    if (found.is === 'no') return undefined;
    if (found.is === 'unknown') return { answer: 'unknown', why: found.why };
    return found.record.token === token
      ? { answer: 'done' }
      : { answer: 'not done', why: `image ${providerImage} already exists` };
  }

  /** A question, which ends with the attempt. */
  private async ask(
    what: 'reach' | 'current' | 'check' | 'taint',
    resource: Resource,
    about: Words = {},
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly said: string }> {
    const command = this.fields.programs[what] ?? [];
    const { words, environment } = fillCommand(command, resource, about);
    const { code, stdout, stderr } = await runCommand(words, { signal: this.signal, environment });
    this.signal.throwIfAborted();
    return { code, stdout, said: describeExit(code, stderr.trim() || stdout.trim()) };
  }

  /** Changing programs, which continue when the worker ends. */
  private async run(
    what: 'load' | 'capture',
    resource: Resource,
    input: ImageInput,
    fileIn: (directory: string) => string,
  ): Promise<RunEnd> {
    const { programs } = this.fields;
    return runDetached({
      folder: this.runsOf(resource.name),
      what: `program ${what} of ${resource.name}`,
      token: input.token,
      // A program whose outcome is unknown is started again.
      isAnswer: (code) => Object.values<number | null>(programExits).includes(code),
      progress: input.progress,
      signal: this.signal,
      detach: this.detach,
      program: (directory) => {
        mkdirSync(join(directory, 'image'), { mode: 0o700 });
        return fillCommand(programs[what] ?? [], resource, { ...aboutOf(input), file: fileIn(directory) });
      },
      grows: what === 'capture' ? fileIn : undefined,
    });
  }

  /** All workers of the site see this folder, so it serves as the claim on the resource. */
  private runsOf(resource: string): string {
    const name = createHash('sha256').update(`${this.account}\n${resource}`).digest('hex').slice(0, 32);
    return join(this.fields.folder, 'runs', name);
  }
}

function aboutOf({ image, token }: ImageInput): Words {
  return { image: image.name, revision: image.revision, token };
}
