import { hostname, userInfo } from 'node:os';
import { WithStartWorkflowOperation, WorkflowNotFoundError, type Client } from '@temporalio/client';
import {
  clusterWorkflowId,
  coreQueue,
  imageWorkflowId,
  imageWorkflowType,
  artifactsWorkflowId,
  artifactsWorkflowType,
} from '../../model/names.js';
import {
  maxResourceBytes,
  prunable,
  type Catalogue,
  type PrunedVersion,
  type Pruning,
  type ResourceRecord,
  type ResourceVersion,
} from '../../model/artifact/state.js';
import type { ResourceFormat } from '../../model/artifact/reference.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import { usedResourcesQuery } from '../../workflows/cluster/messages.js';
import {
  catalogueQuery,
  pruneResourcesUpdate,
  putResourceUpdate,
  rollBackResourceUpdate,
  setResourceUpdate,
} from '../../workflows/artifact/messages.js';
import { call } from '../call.js';
import { HeddleError } from '../errors.js';
import { listClusters } from '../list.js';
import { listNamesOf } from '../machine/list.js';
import { ContentError, readContent, sendContent } from './content.js';
import { namesResources, pinResources } from './pin-resources.js';

export interface PutOptions {
  readonly format: ResourceFormat;
  readonly bytes: Uint8Array;
}

/** How long a prune leaves what is new alone: whoever put it may not have used it yet. */
export const defaultPruneAgeMs = 7 * 24 * 3_600_000;

/** Scripts, cookbooks, keys and other files that plugins use, in versions, kept by the Temporal server. */
export class ResourceClient {
  readonly #temporal: Client;
  readonly #by: string;

  constructor(temporal: Client, by = `${userInfo().username}@${hostname()}`) {
    this.#temporal = temporal;
    this.#by = by;
  }

  async catalogue(): Promise<Catalogue> {
    return this.#call('resources', async () => {
      try {
        return await this.#temporal.workflow.getHandle(artifactsWorkflowId).query(catalogueQuery);
      } catch (error) {
        // Nobody has put anything yet.
        if (error instanceof WorkflowNotFoundError) return {};
        throw error;
      }
    });
  }

  /**
   * Stores a version; the same content again is the version that is there. The first version of a name is set
   * at once, any other by `set`.
   * @throws HeddleError Refused with what is wrong.
   */
  async put(name: string, { format, bytes }: PutOptions): Promise<ResourceVersion> {
    if (bytes.length > maxResourceBytes)
      throw new HeddleError(
        'Invalid',
        `resource ${name} has ${bytes.length} bytes; ${maxResourceBytes} is the most`,
      );
    const put = async (): Promise<ResourceVersion> => {
      const content = await sendContent(this.#temporal, { format, bytes, label: name });
      const startWorkflowOperation = new WithStartWorkflowOperation<() => Promise<void>>(
        artifactsWorkflowType,
        {
          workflowId: artifactsWorkflowId,
          taskQueue: coreQueue,
          args: [],
          workflowIdConflictPolicy: 'USE_EXISTING',
          staticSummary: 'resources of plugins',
        },
      );
      return this.#call(`put ${name}`, () =>
        this.#temporal.workflow.executeUpdateWithStart(putResourceUpdate, {
          args: [{ name, by: this.#by, ...content }],
          startWorkflowOperation,
        }),
      );
    };
    // A part that was there may have gone by itself meanwhile: then all are sent once more.
    return put().catch((error: unknown) => {
      if (
        error instanceof HeddleError &&
        error.code === 'Refused' &&
        /is not there as a whole/.test(error.message)
      )
        return put();
      throw error;
    });
  }

  /**
   * Lets a name mean a version, or none: then no cluster can begin to use it. Clusters follow with their next
   * apply.
   */
  async set(name: string, version: number | null): Promise<ResourceRecord> {
    await this.#known(name);
    return this.#call(`set ${name}`, () =>
      this.#temporal.workflow
        .getHandle(artifactsWorkflowId)
        .executeUpdate(setResourceUpdate, { args: [name, version] }),
    );
  }

  /** Lets a name mean what it meant before. */
  async rollBack(name: string): Promise<ResourceRecord> {
    await this.#known(name);
    return this.#call(`rollback ${name}`, () =>
      this.#temporal.workflow
        .getHandle(artifactsWorkflowId)
        .executeUpdate(rollBackResourceUpdate, { args: [name] }),
    );
  }

  /** What a version holds. @throws HeddleError NotFound when its content is gone. */
  async read(digest: string): Promise<Uint8Array> {
    try {
      return await readContent(this.#temporal, digest);
    } catch (error) {
      if (error instanceof ContentError)
        throw new HeddleError('NotFound', `content ${digest} cannot be read: ${error.message}`, {
          cause: error,
        });
      throw error;
    }
  }

  /**
   * What a prune would remove: neither set, nor what a rollback would set, nor used by a cluster or an image,
   * and old enough.
   */
  async prunable(
    olderThanMs = defaultPruneAgeMs,
  ): Promise<{ readonly versions: readonly PrunedVersion[]; readonly pruning: Pruning }> {
    const before = new Date(Date.now() - olderThanMs).toISOString();
    const catalogue = await this.catalogue();
    const pruning = { before, used: await this.#used() };
    return { versions: prunable(catalogue, pruning), pruning };
  }

  async prune(pruning: Pruning): Promise<readonly PrunedVersion[]> {
    if (Object.keys(await this.catalogue()).length === 0) return [];
    return this.#call('prune', () =>
      this.#temporal.workflow
        .getHandle(artifactsWorkflowId)
        .executeUpdate(pruneResourcesUpdate, { args: [pruning] }),
    );
  }

  /**
   * Binds the resources that a spec names to what their names mean now. What has no such meaning is left for
   * the planner to refuse.
   */
  async pin(spec: ClusterSpec): Promise<ClusterSpec> {
    return namesResources(spec) ? pinResources(spec, await this.catalogue()) : spec;
  }

  /**
   * Digests that clusters, and recipes of images, use. What does not answer may use any, so nothing is
   * removed then.
   */
  async #used(): Promise<readonly string[]> {
    const used = new Set<string>();
    for (const { name } of await this.#call('list', () => listClusters(this.#temporal))) {
      const digests = await this.#call(`resources of cluster ${name}`, () =>
        this.#temporal.workflow.getHandle(clusterWorkflowId(name)).query(usedResourcesQuery),
      );
      for (const digest of digests) used.add(digest);
    }
    for (const name of await this.#call('list', () => listNamesOf(this.#temporal, imageWorkflowType))) {
      const digests = await this.#call(`resources of image ${name}`, () =>
        this.#temporal.workflow.getHandle(imageWorkflowId(name)).query(usedResourcesQuery),
      );
      for (const digest of digests) used.add(digest);
    }
    return [...used];
  }

  async #known(name: string): Promise<void> {
    if (Object.hasOwn(await this.catalogue(), name)) return;
    throw new HeddleError(
      'NotFound',
      `there is no resource ${name}; 'heddle resource list' shows those there are`,
      { next: 'heddle resource list' },
    );
  }

  async #call<Result>(what: string, make: () => Promise<Result>): Promise<Result> {
    return call(this.#temporal, what, make);
  }
}
