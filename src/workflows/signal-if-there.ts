import { getExternalWorkflowHandle, isCancellation, type SignalDefinition } from '@temporalio/workflow';

/** Signals another workflow. Returns false if no workflow with this id is running. */
export async function signalIfThere<Args extends unknown[]>(
  workflowId: string,
  signal: SignalDefinition<Args>,
  ...args: Args
): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(workflowId).signal(signal, ...args);
    return true;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return false;
  }
}
