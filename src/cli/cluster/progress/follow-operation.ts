import { findOperation, type WaitResult } from '../../../client/wait.js';
import type { ClusterStatus } from '../../../model/status.js';
import { cleanLine } from '../../clean-text.js';
import { untilInterrupted } from '../../interrupt.js';
import type { Output } from '../../output.js';
import type { Session } from '../../session.js';
import { lookAtServer } from '../../system/server-view.js';
import { followTroubles } from './follow-troubles.js';
import { openLineView } from './line-view.js';
import { openLiveView, type ProgressView } from './live-view.js';

export interface FollowRequest {
  readonly name: string;
  readonly operation: string;
  /** Milliseconds since the epoch; tasks that ended earlier are not told again. */
  readonly since: number;
  /**
   * Only a terminal shows progress, and it is wiped out at the end: what follows is what one wants to see.
   */
  readonly fleeting?: boolean;
  /** Gets every look, where a program reads them. */
  readonly onStatus?: (status: ClusterStatus) => void;
}

const silent: ProgressView = { show: () => undefined, warn: () => undefined, end: async () => undefined };

/** Two who warn on one line: a silence comes before what a look at the server found. */
function openWarnings(view: ProgressView): {
  readonly silence: (text: string | undefined) => void;
  readonly trouble: (text: string | undefined) => void;
} {
  let [silence, trouble]: (string | undefined)[] = [];
  return {
    silence: (text) => {
      silence = text;
      view.warn(silence ?? trouble);
    },
    trouble: (text) => {
      trouble = text;
      view.warn(silence ?? trouble);
    },
  };
}

/**
 * Waits for an operation's end and shows its progress. Ctrl-C ends the waiting, not the work.
 * @throws CliError Interrupted; HeddleError NoWorker or NoServer after minutes of silence.
 */
export async function followOperation(session: Session, request: FollowRequest): Promise<WaitResult> {
  const { name, operation } = request;
  const view = openView(session, request);
  const warn = openWarnings(view);
  const over = new AbortController();
  if (view !== silent)
    void followTroubles({
      signal: over.signal,
      look: () => lookAtServer(session.temporal, name),
      more: `heddle status ${name}`,
      onChange: warn.trouble,
    });
  try {
    return await untilInterrupted(
      (signal) =>
        session.client.waitFor(name, operation, {
          signal,
          onStatus: (status) => {
            const found = findOperation(status, operation);
            if (found !== undefined) view.show(status, found);
            warn.silence(undefined);
            request.onStatus?.(status);
          },
          onSilence: (error) =>
            warn.silence(
              error.code === 'NoServer'
                ? 'The server does not answer; looking again.'
                : 'No worker answers; the work goes on when one is back.',
            ),
        }),
      `operation ${operation} of ${name}`,
      `heddle status ${name} --watch`,
    );
  } finally {
    over.abort();
    await view.end();
  }
}

function openView(
  { output, temporal }: Session,
  { name, operation, since, fleeting = false }: FollowRequest,
): ProgressView {
  if (output.json) return silent;
  if (output.live) return openLiveView(output, process.stdout, { fleeting });
  if (fleeting) return openNotes(output);
  return openLineView(output, { temporal, cluster: name, operation, since });
}

/** Where what follows is the output: a warning goes beside it. */
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
