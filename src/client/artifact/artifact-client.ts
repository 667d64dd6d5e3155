import type { Client } from '@temporalio/client';
import type { Json } from '../../model/json.js';
import {
  clusterWorkflowId,
  clusterWorkflowType,
  revisionWorkflowType,
  imageWorkflowId,
  imageWorkflowType,
  artifactsWorkflowId,
  artifactsWorkflowType,
} from '../../model/names.js';
import { artifactMessages, clusterMessages } from '../../workflows/messages.js';
import {
  type Pruning,
  maxResourceBytes,
  pinReference,
  prunable,
  type Catalogue,
  type PrunedVersion,
} from '../../model/artifact/state.js';
import type { ResourceRecord, ResourceVersion } from '../../schema/output/resource.js';
import { readResourceReference, type ResourceFormat } from '../../model/artifact/reference.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import { call } from '../call.js';
import { EntityClient } from '../entity-client.js';
import { HeddleError } from '../errors.js';
import { listRunning } from '../list.js';
import { ContentError, readContent, sendContent } from './content.js';
import { serverTime } from '../server-clock.js';
import { read } from '../read.js';

export interface PutOptions {
  readonly format: ResourceFormat;
  readonly bytes: Uint8Array;
}

/** Younger versions are not pruned: their owner may not have used them yet. */
const defaultPruneAgeMs = 7 * 24 * 3_600_000;

/**
 * Scripts, cookbooks, keys and other files that plugins use, in versions; one workflow holds the catalogue.
 */
export class ResourceClient extends EntityClient {
  constructor(temporal: Client, by?: string) {
    super(
      temporal,
      {
        noun: 'resource',
        workflowType: artifactsWorkflowType,
        workflowId: () => artifactsWorkflowId,
        listCommand: 'heddle resource list',
      },
      by,
    );
  }

  /** Empty until the first version is stored. */
  async catalogue(): Promise<Catalogue> {
    return this.query('resources', '', artifactMessages.queries.catalogue).catch((error: unknown) => {
      if (error instanceof HeddleError && error.code === 'NotFound') return {};
      throw error;
    });
  }

  /**
   * Stores a version; identical content returns the existing version. The first version of a name is set at
   * once, others by `set`.
   * @throws HeddleError Refused with the reason.
   */
  async put(name: string, { format, bytes }: PutOptions): Promise<ResourceVersion> {
    if (bytes.length > maxResourceBytes)
      throw new HeddleError(
        'Invalid',
        `resource ${name} has ${bytes.length} bytes; the maximum is ${maxResourceBytes}`,
      );
    const put = async (): Promise<ResourceVersion> => {
      const content = await sendContent(this.temporal, { format, bytes, label: name });
      const request = { name, by: this.by, ...content };
      const start = { args: [], staticSummary: 'resources of plugins' };
      return this.updateWithStart(`put ${name}`, name, artifactMessages.updates.put, request, start);
    };
    // A part that existed may have expired meanwhile: then all are sent once more.
    return put().catch((error: unknown) => {
      const expired = error instanceof HeddleError && error.code === 'Refused';
      if (expired && /is not there as a whole/.test(error.message)) return put();
      throw error;
    });
  }

  /**
   * Binds a name to a version, or to none: then no cluster can start to use it. Takes effect with the next
   * apply.
   */
  async set(name: string, version: number | null): Promise<ResourceRecord> {
    await this.#requireName(name);
    return this.update('set', name, artifactMessages.updates.set, name, version);
  }

  /** Binds a name to its previous version. */
  async rollBack(name: string): Promise<ResourceRecord> {
    await this.#requireName(name);
    return this.update('rollback', name, artifactMessages.updates.rollback, name);
  }

  /** The bytes of a version. @throws HeddleError NotFound when the content is gone. */
  async read(digest: string): Promise<Uint8Array> {
    return readContent(this.temporal, digest).catch((cause: unknown) => {
      if (!(cause instanceof ContentError)) throw cause;
      throw new HeddleError('NotFound', `content ${digest} cannot be read: ${cause.message}`, { cause });
    });
  }

  /** The versions that a prune would remove: old, not set, not the rollback target, and unused. */
  async prunable(
    olderThanMs = defaultPruneAgeMs,
  ): Promise<{ readonly versions: readonly PrunedVersion[]; readonly pruning: Pruning }> {
    const before = new Date(
      (await serverTime(this.temporal.connection, this.temporal.options.namespace)) - olderThanMs,
    ).toISOString();
    const catalogue = await this.catalogue();
    const pruning = { before, used: await this.#used() };
    return { versions: prunable(catalogue, pruning), pruning };
  }

  async prune(pruning: Pruning): Promise<readonly PrunedVersion[]> {
    if (Object.keys(await this.catalogue()).length === 0) return [];
    return this.update('prune', 'resources', artifactMessages.updates.prune, pruning);
  }

  /**
   * The spec with each `{resource: NAME}` in a field of a service's action bound to the present content of
   * that name; the planner refuses unknown names. A later change of the name is a change of the spec.
   */
  async pin(spec: ClusterSpec): Promise<ClusterSpec> {
    const fields = Object.values(spec.services).flatMap(({ actions }) =>
      Object.values(actions).flatMap((action) => Object.values(action.fields)),
    );
    if (!fields.some((field) => readResourceReference(field) !== undefined)) return spec;
    const catalogue = await this.catalogue();
    const pin = (field: Json): Json => {
      const reference = readResourceReference(field);
      const pinned = reference === undefined ? undefined : pinReference(catalogue, reference);
      return pinned === undefined ? field : { ...pinned };
    };
    const services = mapValues(spec.services, (service) => ({
      ...service,
      actions: mapValues(service.actions, (action) => ({ ...action, fields: mapValues(action.fields, pin) })),
    }));
    return { ...spec, services };
  }

  /**
   * Digests in use by clusters, the revisions of their specs, and recipes of images. Fails when one does not
   * answer, so that nothing in use is removed.
   */
  async #used(): Promise<readonly string[]> {
    const used = new Set<string>();
    const users = [
      { noun: 'cluster', type: clusterWorkflowType, idOf: clusterWorkflowId },
      { noun: 'revision', type: revisionWorkflowType, idOf: (name: string) => clusterWorkflowId(name) },
      { noun: 'image', type: imageWorkflowType, idOf: imageWorkflowId },
    ];
    for (const { noun, type, idOf } of users) {
      for (const { name } of await call(this.temporal, 'list', () => listRunning(this.temporal, type))) {
        const handle = this.temporal.workflow.getHandle(idOf(name));
        const ask = (): Promise<readonly string[]> => read(handle, clusterMessages.queries.usedResources);
        for (const digest of await call(this.temporal, `resources of ${noun} ${name}`, ask)) used.add(digest);
      }
    }
    return [...used];
  }

  async #requireName(name: string): Promise<void> {
    if (!Object.hasOwn(await this.catalogue(), name)) throw this.notFound(name);
  }
}

function mapValues<From, To>(
  object: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
