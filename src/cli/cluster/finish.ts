import type { ApplyReply } from '../../model/cluster/messages.js';
import { exitCodes } from '../errors.js';
import type { Output } from '../output.js';
import type { Session } from '../session.js';
import { followOperation } from './progress/follow-operation.js';
import { reportEnd } from './report-operation.js';

export interface FinishOptions {
  readonly wait: boolean;
  /** When the request was made, in ms since the epoch. */
  readonly since: number;
}

/** Waits for an accepted operation and reports its end, or reports how to wait; returns the exit code. */
export async function finish(
  session: Session,
  name: string,
  reply: ApplyReply,
  options: FinishOptions,
): Promise<number> {
  const { operation, unchanged } = reply;
  const { wait, since } = options;
  const { output } = session;
  if (!wait) return leaveIt(output, name, reply);
  const end = await followOperation(session, { name, operation, since });
  return reportEnd(output, end, {
    now: Date.now(),
    unchanged: unchanged === true && Date.parse(end.operation.endedAt ?? '') < since,
  });
}

/** Reports an accepted operation without waiting for its end. */
export function leaveIt(
  output: Output,
  name: string,
  { operation, clusterUid, unchanged }: ApplyReply,
): number {
  output.line(
    unchanged === true
      ? `${name}: operation ${operation} does this already, or has done it`
      : `${name}: operation ${operation} is accepted`,
  );
  output.line(`next: heddle status ${name} --watch`);
  output.document({ cluster: name, clusterUid, operation: { id: operation }, unchanged });
  return exitCodes.ok;
}
