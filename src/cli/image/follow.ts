import type { ImageView } from '../../schema/output/image.js';
import { imageWorkflowId } from '../../model/names.js';
import type { ServerOptions, WaitOptions } from '../configuration.js';
import type { Session } from '../session.js';
import { readWorkflows } from '../system/server-view.js';
import { printNew, untilEnd } from '../waiting.js';
import { waitsOf } from './waits.js';

export interface FollowOptions extends ServerOptions, WaitOptions {}

interface Followed<Result> {
  readonly name: string;
  /** What is waited for: "the build of image web". */
  readonly what: string;
  readonly wait: (signal: AbortSignal, onView: (view: ImageView) => void) => Promise<Result>;
}

/**
 * Waits for an end and prints what the work waits for whenever that changes.
 * @throws CliError Interrupted, or Failed with what it waited for at the time limit; the work continues.
 */
export async function followImage<Result>(
  { temporal, output }: Session,
  { timeout }: FollowOptions,
  { name, what, wait }: Followed<Result>,
): Promise<Result> {
  let view: ImageView | undefined;
  return untilEnd({
    what,
    next: `heddle image show ${name}`,
    timeout,
    end: (signal) => wait(signal, (seen) => (view = seen)),
    obstacles: async () => {
      // The wait itself reports a server that does not answer.
      const server = await readWorkflows(temporal, [imageWorkflowId(name)], `image ${name}`).catch(
        () => undefined,
      );
      return server && waitsOf(view, server, Date.now());
    },
    onObstacles: printNew(output),
    everyMs: 2_000,
  });
}
