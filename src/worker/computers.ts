import { WorkflowNotFoundError, WorkflowUpdateFailedError, type Client } from '@temporalio/client';
import { GoneError, RefusedError, type Computers } from '../activities/reservation/parts.js';
import { listMachineNames } from '../client/list.js';
import { machineWorkflowId } from '../model/names.js';
import { machineMessages } from '../workflows/messages.js';
import { read } from '../client/read.js';

const patienceMs = 10_000;
/** The provider is queried. */
const imagePatienceMs = 40_000;

/** The workflows of registered machines, over the Temporal server. */
export function computersOf(temporal: Client): Computers {
  const patiently = <Value>(work: () => Promise<Value>, ms = patienceMs): Promise<Value> =>
    temporal.withDeadline(Date.now() + ms, work);
  const handle = (name: string): ReturnType<Client['workflow']['getHandle']> =>
    temporal.workflow.getHandle(machineWorkflowId(name));
  return {
    names: () => patiently(() => listMachineNames(temporal)),
    view: async (name) => {
      try {
        const view = await patiently(() => read(handle(name), machineMessages.queries.status));
        // A workflow that has ended still answers queries.
        return view.removed === true ? undefined : view;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },
    askImage: (name, image) =>
      patiently(
        () => handle(name).executeUpdate(machineMessages.updates.askImage, { args: [image] }),
        imagePatienceMs,
      ),
    stopUnneeded: (name, key) =>
      patiently(() => handle(name).executeUpdate(machineMessages.updates.stopUnneeded, { args: [{ key }] })),
    operate: async (name, request) => {
      try {
        return (
          await patiently(() =>
            handle(name).executeUpdate(machineMessages.updates.operate, { args: [request] }),
          )
        ).operation;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError)
          throw new GoneError(`machine ${name} is no longer registered`, { cause: error });
        if (error instanceof WorkflowUpdateFailedError)
          throw new RefusedError(error.cause?.message ?? error.message, { cause: error });
        throw error;
      }
    },
  };
}
