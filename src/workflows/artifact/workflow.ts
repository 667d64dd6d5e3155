import { artifactsContract } from '../../model/artifact/contract.js';
import { bounds } from '../../model/bounds.js';
import { ApplicationFailure, getExternalWorkflowHandle } from '@temporalio/workflow';
import { artifactPartWorkflowId } from '../../model/names.js';
import { artifactPartMessages } from '../messages.js';
import {
  type Pruning,
  type PutRequest,
  prunable,
  putVersion,
  refusePut,
  refuseRollback,
  refuseSet,
  removeVersions,
  rollBack,
  setVersion,
  type Catalogue,
  type ResourceContent,
} from '../../model/artifact/state.js';
import type { ResourceRecord, ResourceVersion } from '../../schema/output/resource.js';
import { newMemory, runEntity, handlersOf } from '../entity.js';
import { condition } from '../inbox.js';

/**
 * The catalogue of resources. There is one such workflow per namespace, so its history orders all changes of
 * what a name means.
 */
export async function artifacts(input?: { readonly carried: Catalogue }): Promise<string> {
  let catalogue = input?.carried ?? {};
  const recordOf = (name: string): ResourceRecord => catalogue[name] ?? { versions: [], before: [], next: 1 };
  // One request must not claim content while another removes it.
  let busy = false;
  const exclusively = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    while (busy) await condition(() => !busy);
    busy = true;
    try {
      return await work();
    } finally {
      busy = false;
    }
  };
  return runEntity(newMemory(), {
    messages: handlersOf(artifactsContract, {
      updates: {
        put: [
          (request): Promise<ResourceVersion> =>
            exclusively(async () => {
              // A version becomes visible only when all of its content is kept.
              await keepParts(request);
              const put = putVersion(catalogue, request, new Date().toISOString());
              ({ catalogue } = put);
              return put.version;
            }),
          (request) => refusePut(catalogue, request),
        ],
        set: [
          (name, version) => {
            catalogue = setVersion(catalogue, name, version);
            return recordOf(name);
          },
          (name, version) => refuseSet(catalogue, name, version),
        ],
        rollback: [
          (name) => {
            catalogue = rollBack(catalogue, name);
            return recordOf(name);
          },
          (name) => refuseRollback(catalogue, name),
        ],
        prune: (pruning: Pruning) =>
          exclusively(async () => {
            const removed = prunable(catalogue, pruning);
            const { catalogue: kept, unused } = removeVersions(catalogue, removed);
            catalogue = kept;
            for (const content of unused) await dropParts(content);
            return removed;
          }),
      },
      queries: { catalogue: () => catalogue },
    }),
    carry: () => catalogue,
    bounds: bounds.artifacts,
  });
}

async function keepParts(request: PutRequest): Promise<void> {
  try {
    await Promise.all(
      partIds(request).map((id) => getExternalWorkflowHandle(id).signal(artifactPartMessages.signals.keep)),
    );
  } catch (error) {
    throw ApplicationFailure.nonRetryable(
      `the content of ${request.name} is not there as a whole; put it again`,
      'Incomplete',
      error,
    );
  }
}

async function dropParts(content: ResourceContent): Promise<void> {
  // A part that no longer exists needs no signal.
  await Promise.allSettled(
    partIds(content).map((id) => getExternalWorkflowHandle(id).signal(artifactPartMessages.signals.drop)),
  );
}

function partIds({ digest, parts }: ResourceContent): readonly string[] {
  return Array.from({ length: parts }, (_, part) => artifactPartWorkflowId(digest, part));
}
