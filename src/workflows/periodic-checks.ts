import { setCurrentDetails } from '@temporalio/workflow';
import { machineMessages } from './messages.js';
import { schedule } from './schedule.js';
import { signalIfThere } from './signal-if-there.js';

/** Signals at a time; the server limits how many may be on their way. */
const atOnce = 100;

/** Signals each machine and image to check itself. A Schedule starts it. */
export async function periodicChecks(): Promise<string> {
  const { workflows } = await schedule('LIST_CHECKED', undefined);
  let notified = 0;
  for (let first = 0; first < workflows.length; first += atOnce) {
    // A workflow that ended since it was listed needs no check.
    const answers = await Promise.all(
      workflows
        .slice(first, first + atOnce)
        .map((workflowId) => signalIfThere(workflowId, machineMessages.signals.check)),
    );
    notified += answers.filter(Boolean).length;
  }
  const said = `${notified} of ${workflows.length} machines and images started a check`;
  setCurrentDetails(said);
  return said;
}
