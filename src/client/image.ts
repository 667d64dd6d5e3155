import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { findBuild, isGone, type Build } from '../model/image/build.js';
import { imageMessages } from '../workflows/messages.js';
import type { BuildReply, ConfigureImageReply } from '../model/image/contract.js';
import { sourceOf, type ImageSpec } from '../model/image/spec.js';
import { restoredImage, type ImageRecords } from '../model/image/export.js';
import type { ImageView } from '../schema/output/image.js';
import { imageWorkflowId, imageWorkflowType } from '../model/names.js';
import type { ImageInput } from '../workflows/image/workflow.js';
import type { ResourceClient } from './artifact/artifact-client.js';
import { EntityClient, waitUntil, type ExportOptions, type WaitUntilOptions } from './entity-client.js';
import { HeddleError } from './errors.js';
import { serverTime } from './server-clock.js';

/** Images, and how they are built. */
export class ImageClient extends EntityClient {
  readonly #resources: ResourceClient;

  constructor(temporal: Client, by: string, resources: ResourceClient) {
    const listCommand = 'heddle image list';
    super(
      temporal,
      { noun: 'image', workflowType: imageWorkflowType, workflowId: imageWorkflowId, listCommand },
      by,
    );
    this.#resources = resources;
  }

  /**
   * Configures an image and creates it if necessary. Pins the resources of its recipe to their present
   * versions, so that later builds use the same.
   * @throws HeddleError Refused with the reason.
   */
  async apply(written: ImageSpec): Promise<ConfigureImageReply> {
    const { name } = written;
    const source = sourceOf(written);
    const spec: ImageSpec =
      source.kind === 'command'
        ? written
        : { ...written, services: (await this.#resources.pin(source.cluster)).services };
    const input: ImageInput = { uid: randomUUID() };
    const request = { spec, by: this.by };
    const start = { args: [input], staticSummary: `image ${name}` };
    return this.updateWithStart(`apply image ${name}`, name, imageMessages.updates.configure, request, start);
  }

  /** Requests a build; the request is kept until a build succeeds. */
  build(name: string): Promise<BuildReply> {
    return this.update('build', name, imageMessages.updates.build, { by: this.by });
  }

  /** Ends the running build and drops the request for it. */
  cancel(name: string): Promise<BuildReply> {
    return this.update('cancel', name, imageMessages.updates.cancel, { by: this.by });
  }

  /**
   * Deletes the newest build, so that the previous one is offered, and pauses. Returns the deleted number.
   */
  rollBack(name: string): Promise<BuildReply> {
    return this.update('rollback', name, imageMessages.updates.rollback, { by: this.by });
  }

  /** Retries the failed uploads of the newest build, whose number is returned. */
  upload(name: string): Promise<BuildReply> {
    return this.update('upload', name, imageMessages.updates.upload, { by: this.by });
  }

  /**
   * Waits until no upload of this build is under way or waits. Uploads that still wait when a newer build is
   * ready do not start. @throws HeddleError NotFound
   */
  waitForUploads(name: string, number: number, options?: WaitUntilOptions<ImageView>): Promise<Build> {
    return waitUntil(
      () => this.show(name),
      ({ builds }) => {
        const build = findBuild(builds, number);
        if (build === undefined)
          throw new HeddleError('NotFound', `image ${name} no longer has build ${number}`);
        const isReplaced = builds.some((other) => other.number > number && other.state === 'ready');
        return build.uploads.some(
          ({ state }) => state === 'uploading' || (state === 'waiting' && !isReplaced),
        )
          ? undefined
          : build;
      },
      options,
    );
  }

  /** Pauses builds, or with a provider account only uploads to it. */
  async pause(name: string, provider?: string): Promise<void> {
    await this.update('pause', name, imageMessages.updates.pause, { by: this.by, provider });
  }

  /** Resumes builds, or with a provider account only uploads to it. */
  async resume(name: string, provider?: string): Promise<void> {
    await this.update('resume', name, imageMessages.updates.resume, { by: this.by, provider });
  }

  /** Deletes one build, or the image with all of them; `gone` waits for the end of an image. */
  async delete(name: string, build?: number): Promise<void> {
    await this.update('delete', name, imageMessages.updates.delete, { by: this.by, build });
  }

  async gone(name: string): Promise<void> {
    await this.handle(name).result();
  }

  /** Waits until one build is gone, or the image with all of them. */
  async waitUntilDeleted(
    name: string,
    number: number | undefined,
    options?: WaitUntilOptions<ImageView>,
  ): Promise<void> {
    const isDeleted = ({ builds, machines, leaving }: ImageView): boolean =>
      number === undefined
        ? leaving === undefined || (machines.length === 0 && builds.every(isGone))
        : findBuild(builds, number) === undefined;
    await waitUntil(
      () => this.show(name),
      (view) => (isDeleted(view) ? true : undefined),
      options,
    );
    if (number === undefined) await this.gone(name);
  }

  /**
   * Stops the image for a move to another server or namespace, and returns its records: it no longer builds,
   * uploads or deletes anything. Waits until work in progress has ended. The same again returns the same
   * records.
   * @throws HeddleError Refused with the reason.
   */
  async export(name: string, options: ExportOptions = {}): Promise<ImageRecords> {
    await this.update('export', name, imageMessages.updates.export, { by: this.by });
    return this.awaitRecords(name, () => this.query('records', name, imageMessages.queries.records), options);
  }

  /**
   * Resumes the image. Only if its records were not restored anywhere: otherwise two images have the same
   * builds.
   */
  async cancelExport(name: string): Promise<void> {
    await this.update('cancel the export', name, imageMessages.updates.export, { by: this.by, cancel: true });
  }

  /**
   * Starts an image with the records of an exported one. It may return to where it was exported from.
   * @throws HeddleError Refused if another image of this name exists.
   */
  async restore(records: ImageRecords): Promise<{ readonly unchanged: boolean }> {
    const carried = restoredImage(
      records,
      await serverTime(this.temporal.connection, this.temporal.options.namespace),
    );
    return this.startRestored(carried.name, records, carried, () => this.show(carried.name));
  }

  show(name: string): Promise<ImageView> {
    return this.query('show', name, imageMessages.queries.image);
  }

  /** All images; those whose workflow does not answer are named in `silent`. */
  async list(): Promise<{ readonly images: readonly ImageView[]; readonly silent: readonly string[] }> {
    const { views, silent } = await this.views((name) => this.show(name));
    return { images: views, silent };
  }

  /**
   * Waits until a build of this number, or a later one, is ready; a failed build is followed by another.
   * @throws HeddleError Failed if no build is requested any longer.
   */
  waitForBuild(name: string, number: number, options?: WaitUntilOptions<ImageView>): Promise<Build> {
    return waitUntil(
      () => this.show(name),
      ({ builds, request }) => {
        const ready = builds.find((build) => build.number >= number && build.state === 'ready');
        if (ready !== undefined || request !== undefined || builds.some(({ state }) => state === 'building'))
          return ready;
        const why = builds.find((build) => build.number >= number)?.why;
        throw new HeddleError(
          'Failed',
          `image ${name} is no longer being built${why === undefined ? '' : `: ${why}`}`,
        );
      },
      options,
    );
  }
}
