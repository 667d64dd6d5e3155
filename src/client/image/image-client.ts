import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { WithStartWorkflowOperation, type Client, type WorkflowHandle } from '@temporalio/client';
import type { Build } from '../../model/image/build.js';
import type { BuildReply, ConfigureImageReply } from '../../model/image/messages.js';
import type { ImageSpec } from '../../model/image/spec.js';
import type { ImageView } from '../../model/image/view.js';
import { coreQueue, imageWorkflowId, imageWorkflowType } from '../../model/names.js';
import type { ImageInput } from '../../workflows/image/workflow.js';
import {
  buildImageUpdate,
  cancelBuildUpdate,
  configureImageUpdate,
  deleteImageUpdate,
  imageQuery,
  pauseImageUpdate,
  resumeImageUpdate,
  rollbackImageUpdate,
} from '../../workflows/image/messages.js';
import { call } from '../call.js';
import { HeddleError } from '../errors.js';
import type { ResourceClient } from '../resources/resource-client.js';
import { listNamesOf } from '../machine/list.js';

export interface ImageWaitOptions {
  /** Between looks, in ms; 500 unless given. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
  readonly onView?: (view: ImageView) => void;
  /** Longest silence of server and workers that is waited out, in ms; 5 minutes unless given. */
  readonly patienceMs?: number;
}

/** Images, and how they are built. */
export class ImageClient {
  readonly #temporal: Client;
  readonly #by: string;
  readonly #resources: ResourceClient;

  constructor(temporal: Client, by: string, resources: ResourceClient) {
    this.#temporal = temporal;
    this.#resources = resources;
    this.#by = by;
  }

  /**
   * Brings an image to a description of how it is made; makes the image when there is none. Names of
   * resources in its recipe are bound to what they mean now: a later build of it uses the same.
   * @throws HeddleError Refused with what is wrong.
   */
  async apply(written: ImageSpec): Promise<ConfigureImageReply> {
    const { source } = written;
    const spec: ImageSpec =
      source.kind === 'command'
        ? written
        : { ...written, source: { ...source, cluster: await this.#resources.pin(source.cluster) } };
    const startWorkflowOperation = new WithStartWorkflowOperation<(input: ImageInput) => Promise<string>>(
      imageWorkflowType,
      {
        workflowId: imageWorkflowId(spec.name),
        taskQueue: coreQueue,
        args: [{ uid: randomUUID() }],
        workflowIdConflictPolicy: 'USE_EXISTING',
        staticSummary: `image ${spec.name}`,
      },
    );
    return call(this.#temporal, `apply image ${spec.name}`, () =>
      this.#temporal.workflow.executeUpdateWithStart(configureImageUpdate, {
        args: [{ spec, by: this.#by }],
        startWorkflowOperation,
      }),
    );
  }

  /** Asks for a build, which stays asked for until one has succeeded. */
  async build(name: string): Promise<BuildReply> {
    return this.#ask(name, 'build', (handle) =>
      handle.executeUpdate(buildImageUpdate, { args: [{ by: this.#by }] }),
    );
  }

  /** Ends the build under way, and the request for it. */
  async cancel(name: string): Promise<BuildReply> {
    return this.#ask(name, 'cancel', (handle) =>
      handle.executeUpdate(cancelBuildUpdate, { args: [{ by: this.#by }] }),
    );
  }

  /**
   * Deletes the newest build, so that the one before it is offered, and pauses. Gives the number of the one
   * that goes.
   */
  async rollBack(name: string): Promise<BuildReply> {
    return this.#ask(name, 'rollback', (handle) =>
      handle.executeUpdate(rollbackImageUpdate, { args: [{ by: this.#by }] }),
    );
  }

  async pause(name: string): Promise<void> {
    await this.#ask(name, 'pause', (handle) =>
      handle.executeUpdate(pauseImageUpdate, { args: [{ by: this.#by }] }),
    );
  }

  async resume(name: string): Promise<void> {
    await this.#ask(name, 'resume', (handle) =>
      handle.executeUpdate(resumeImageUpdate, { args: [{ by: this.#by }] }),
    );
  }

  /**
   * One build, or all of them and the image. Returns when it is accepted; `gone` waits for the end of an
   * image.
   */
  async delete(name: string, build?: number): Promise<void> {
    await this.#ask(name, 'delete', (handle) =>
      handle.executeUpdate(deleteImageUpdate, { args: [{ by: this.#by, build }] }),
    );
  }

  async gone(name: string): Promise<void> {
    await this.#temporal.workflow.getHandle(imageWorkflowId(name)).result();
  }

  async show(name: string): Promise<ImageView> {
    return this.#ask(name, 'show', (handle) => handle.query(imageQuery));
  }

  /** Those there are; one whose workflow does not answer is left out, and named. */
  async list(): Promise<{ readonly images: readonly ImageView[]; readonly silent: readonly string[] }> {
    const names = await call(this.#temporal, 'list images', () =>
      listNamesOf(this.#temporal, imageWorkflowType),
    );
    const seen = await Promise.all(names.map((name) => this.show(name).catch(() => name)));
    return {
      images: seen.filter((one) => typeof one !== 'string'),
      silent: seen.filter((one) => typeof one === 'string'),
    };
  }

  /**
   * Waits until a build of this number, or of a later one, is ready. One that fails is followed by another.
   * @throws HeddleError Failed when nobody asks any more.
   */
  async waitForBuild(
    name: string,
    number: number,
    { everyMs = 500, signal, onView, patienceMs = 5 * 60_000 }: ImageWaitOptions = {},
  ): Promise<Build> {
    for (
      let answeredAt = Date.now();
      ;
      await pause(everyMs, undefined, signal === undefined ? {} : { signal })
    ) {
      try {
        const view = await this.show(name);
        answeredAt = Date.now();
        onView?.(view);
        const ready = view.builds.find((build) => build.number >= number && build.state === 'ready');
        if (ready !== undefined) return ready;
        if (view.request === undefined && !view.builds.some(({ state }) => state === 'building')) {
          const last = view.builds.find((build) => build.number >= number);
          throw new HeddleError(
            'Failed',
            `image ${name} is not being built any more${last?.why === undefined ? '' : `: ${last.why}`}`,
          );
        }
      } catch (error) {
        const passing =
          error instanceof HeddleError && (error.code === 'NoWorker' || error.code === 'NoServer');
        if (!passing || Date.now() - answeredAt > patienceMs) throw error;
      }
    }
  }

  async #ask<Result>(
    name: string,
    what: string,
    ask: (handle: WorkflowHandle) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await call(this.#temporal, `${what} ${name}`, () =>
        ask(this.#temporal.workflow.getHandle(imageWorkflowId(name))),
      );
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== 'NotFound') throw error;
      throw new HeddleError(
        'NotFound',
        `there is no image ${name}; 'heddle image list' shows those there are`,
        { cause: error, next: 'heddle image list' },
      );
    }
  }
}
