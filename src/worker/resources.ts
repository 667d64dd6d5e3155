import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Resources } from '../activities/parts.js';
import { ContentError, readContent } from '../client/artifact/content.js';
import type { Config } from '../config/index.js';
import { PluginError } from '../plugins/errors.js';
import { ArchiveError } from '../store/archive/entry.js';
import { createResourceCache, type ResourceCache } from '../store/resource-cache.js';

/** Resources as this worker needs them: from the Temporal server, kept on its disk. */
export function openResourceCache(temporal: Client, { store }: Pick<Config, 'store'>): ResourceCache {
  return createResourceCache({
    folder: join(store.folder, 'resources'),
    fetch: (digest) => temporal.withDeadline(Date.now() + 120_000, () => readContent(temporal, digest)),
  });
}

/** The same for activities, whose failures say what a person can do. */
export function resourcesOf(cache: ResourceCache): Resources {
  return (resource, permissions) =>
    cache.get(resource, permissions).catch((cause: unknown) => {
      const { resource: name, version, digest } = resource;
      const what = `version ${version} of resource ${name}`;
      const why = cause instanceof Error ? cause.message : String(cause);
      if (cause instanceof ContentError) {
        throw new PluginError(
          'Invalid',
          `${what} is not available: ${why}. Put the same content again (heddle resource put ${name} PATH) and retry, or apply the cluster's file again for the version that is set. Digest: ${digest}`,
          { cause },
        );
      }
      if (cause instanceof ArchiveError)
        throw new PluginError('Invalid', `${what} cannot be unpacked: ${why}`, { cause });
      throw new PluginError('Retryable', `${what} could not be transferred to this worker: ${why}`, {
        cause,
      });
    });
}
