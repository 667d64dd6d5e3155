import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { resourcePartWorkflowId } from '../../model/names.js';
import {
  prunable,
  putVersion,
  refusePut,
  refuseRollback,
  refuseSet,
  removeVersions,
  rollBack,
  setVersion,
  type Catalogue,
  type Pruning,
  type PutRequest,
  type ResourceContent,
  type ResourceRecord,
  type ResourceVersion,
} from '../../model/resource/catalogue.js';
import { noCheck } from '../no-check.js';
import {
  catalogueQuery,
  dropPartSignal,
  keepPartSignal,
  pruneResourcesUpdate,
  putResourceUpdate,
  rollBackResourceUpdate,
  setResourceUpdate,
} from './messages.js';

/**
 * Which resources there are. One such workflow in a namespace: its history is the one order in which names
 * change their meaning.
 */
export async function resources(carried: Catalogue = {}): Promise<never> {
  let catalogue = carried;
  const recordOf = (name: string): ResourceRecord => catalogue[name] ?? { versions: [], before: [], next: 1 };
  // A content must not be claimed by one request while another gives it up.
  let busy = false;
  const alone = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    while (busy) await condition(() => !busy);
    busy = true;
    try {
      return await work();
    } finally {
      busy = false;
    }
  };
  setHandler(catalogueQuery, () => catalogue, { description: 'All resources and their versions.' });
  setHandler(
    putResourceUpdate,
    (request): Promise<ResourceVersion> =>
      alone(async () => {
        // All of the content is there, and stays, before anybody can name it.
        await keepParts(request);
        const put = putVersion(catalogue, request, new Date().toISOString());
        ({ catalogue } = put);
        return put.version;
      }),
    {
      description: 'Add a version whose content was sent.',
      validator: (request: PutRequest) => refuse(refusePut(catalogue, request)),
    },
  );
  setHandler(
    setResourceUpdate,
    (name, version) => {
      catalogue = setVersion(catalogue, name, version);
      return recordOf(name);
    },
    {
      description: 'Let a name mean a version, or none.',
      validator: (name, version) => refuse(refuseSet(catalogue, name, version)),
    },
  );
  setHandler(
    rollBackResourceUpdate,
    (name) => {
      catalogue = rollBack(catalogue, name);
      return recordOf(name);
    },
    {
      description: 'Let a name mean what it meant before.',
      validator: (name) => refuse(refuseRollback(catalogue, name)),
    },
  );
  setHandler(
    pruneResourcesUpdate,
    (pruning: Pruning) =>
      alone(async () => {
        const removed = prunable(catalogue, pruning);
        const { catalogue: kept, unused } = removeVersions(catalogue, removed);
        catalogue = kept;
        for (const content of unused) await dropParts(content);
        return removed;
      }),
    { validator: noCheck, description: 'Remove versions that nothing needs, and their content.' },
  );
  await condition(() => workflowInfo().continueAsNewSuggested && allHandlersFinished());
  return continueAsNew<typeof resources>(catalogue);
}

function refuse(reason: string | undefined): void {
  if (reason !== undefined) throw new Error(reason);
}

async function keepParts(request: PutRequest): Promise<void> {
  try {
    await Promise.all(partIds(request).map((id) => getExternalWorkflowHandle(id).signal(keepPartSignal)));
  } catch (error) {
    throw ApplicationFailure.nonRetryable(
      `the content of ${request.name} is not there as a whole; put it again`,
      'Incomplete',
      error,
    );
  }
}

async function dropParts(content: ResourceContent): Promise<void> {
  // One that is gone already is as it should be.
  await Promise.allSettled(
    partIds(content).map((id) => getExternalWorkflowHandle(id).signal(dropPartSignal)),
  );
}

function partIds({ digest, parts }: ResourceContent): readonly string[] {
  return Array.from({ length: parts }, (_, part) => resourcePartWorkflowId(digest, part));
}
