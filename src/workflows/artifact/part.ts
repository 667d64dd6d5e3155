import { setHandler } from '@temporalio/workflow';
import { artifactPartMessages } from '../messages.js';
import type { PartHeader } from '../../model/artifact/contract.js';
import { condition } from '../inbox.js';

/** How long a part waits for the rest of its content: its sender may have died. */
const unclaimed = '1 hour';

/**
 * A part of a resource's content: it is the input of this workflow, which does nothing but be there. Readers
 * take it from the first event of the history, so no worker is asked.
 */
export async function artifactPart(_header: PartHeader, _packed: string): Promise<void> {
  let kept = false;
  let dropped = false;
  setHandler(
    artifactPartMessages.signals.keep,
    () => {
      kept = true;
      dropped = false;
    },
    { description: 'The catalogue of resources has this content now.' },
  );
  setHandler(
    artifactPartMessages.signals.drop,
    () => {
      dropped = true;
    },
    { description: 'The content is no longer needed.' },
  );
  if (!(await condition(() => kept || dropped, unclaimed))) return;
  await condition(() => dropped);
}
