import { findOperation, type WaitResult } from '../../../client/wait.js';
import type { ClusterStatus } from '../../../schema/output/status.js';
import { cleanLine } from '../../clean-text.js';
import type { WaitOptions } from '../../configuration.js';
import type { Output } from '../../output.js';
import type { Session } from '../../session.js';
import { readServer } from '../../system/server-view.js';
import { troublesIn, untilEnd } from '../../waiting.js';
import { openLineView } from './line-view.js';
import { openLiveView, type ProgressView } from './live-view.js';

export interface FollowRequest extends Pick<WaitOptions, 'timeout'> {
  readonly name: string;
  readonly operation: string;
  /** Milliseconds since the epoch; tasks that ended earlier are not shown. */
  readonly since: number;
  /** Show progress on terminals only, and erase it at the end. */
  readonly fleeting?: boolean;
  /** Called with each status. */
  readonly onStatus?: (status: ClusterStatus) => void;
}

const silent: ProgressView = { show: () => undefined, warn: () => undefined, end: async () => undefined };

/**
 * Waits for an operation's end and shows its progress. Ctrl-C ends the waiting, not the work.
 * @throws CliError Interrupted; HeddleError NoWorker or NoServer after minutes of silence.
 */
export async function followOperation(session: Session, request: FollowRequest): Promise<WaitResult> {
  const { name, operation, timeout } = request;
  const view = openView(session, request);
  // Both share one line; an outage comes first.
  let [outage, trouble]: (string | undefined)[] = [];
  const warnOfOutage = (text?: string): void => {
    outage = text;
    view.warn(outage ?? trouble);
  };
  try {
    return await untilEnd({
      what: `operation ${operation} of ${name}`,
      next: `heddle status ${name} --watch`,
      timeout,
      end: (signal) =>
        session.client.waitFor(name, operation, {
          signal,
          onStatus: (status) => {
            const found = findOperation(status, operation);
            if (found !== undefined) view.show(status, found);
            warnOfOutage();
            request.onStatus?.(status);
          },
          onSilence: (error) =>
            warnOfOutage(
              error.code === 'NoServer'
                ? 'The server does not respond; retrying.'
                : 'No worker has responded in time; the work continues when one does.',
            ),
        }),
      obstacles: troublesIn(() => readServer(session.temporal, name), `heddle status ${name}`),
      ...(view === silent
        ? {}
        : {
            onObstacles: ([first]) => {
              trouble = first;
              view.warn(outage ?? trouble);
            },
          }),
    });
  } finally {
    await view.end();
  }
}

function openView(
  { output, temporal }: Session,
  { name, since, fleeting = false }: FollowRequest,
): ProgressView {
  if (output.json) return silent;
  if (output.live) return openLiveView(output, process.stdout, { fleeting });
  if (fleeting) return openNotes(output);
  return openLineView(output, { temporal, cluster: name, since });
}

/** Shows only warnings, on standard error. */
function openNotes(output: Output): ProgressView {
  let last: string | undefined;
  return {
    ...silent,
    warn: (text) => {
      if (text !== undefined && text !== last) output.note(cleanLine(text));
      last = text;
    },
  };
}
