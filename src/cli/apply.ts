import type { ApplyReply } from '../model/messages.js';
import { isEmptyPlan } from '../model/plan.js';
import type { ClusterSpec } from '../model/spec.js';
import type { ServerOptions } from './configuration.js';
import { exitCodes } from './exit-codes.js';
import { followOperation } from './follow-operation.js';
import { createOutput, type Output } from './output.js';
import { describeCounts } from './plan-text.js';
import { reportEnd } from './report-operation.js';
import { requireWorker, withSession, type Session } from './session.js';
import { placeProblems } from './spec-file.js';

export interface WaitFlag {
  readonly wait: boolean;
}

export type ApplyOptions = ServerOptions & WaitFlag & { readonly createOnly?: boolean };

/** Brings a cluster to a spec that was read from a file, whose name is for messages. */
export async function apply(spec: ClusterSpec, file: string, options: ApplyOptions): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    const { client } = session;
    await requireWorker(session);
    const since = Date.now();
    // Plugins and providers are known to the workers alone: whatever they find wrong comes before anything is made.
    const { plan } = await client.plan(spec).catch((error: unknown) => {
      throw placeProblems(error, file);
    });
    if (!isEmptyPlan(plan)) output.line(describeCounts(plan));
    const reply = await client.apply(spec, { createOnly: options.createOnly === true });
    return finish(session, output, spec.name, reply, { ...options, since });
  });
}

/** Goes on with a held operation. */
export async function retry(name: string, options: ServerOptions & WaitFlag): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const since = Date.now();
    return finish(session, output, name, await session.client.retry(name), { ...options, since });
  });
}

/** Waits for an accepted operation, or says how to. */
export async function finish(
  session: Session, output: Output, name: string, reply: ApplyReply, { wait, since }: WaitFlag & { readonly since: number },
): Promise<number> {
  const { operation, clusterUid, unchanged } = reply;
  if (wait) {
    const end = await followOperation(session, output, { name, operation, since });
    return reportEnd(output, end, { now: Date.now(), unchanged: unchanged === true && Date.parse(end.operation.endedAt ?? '') < since });
  }
  output.line(unchanged === true ? `${name}: operation ${operation} does this already, or has done it` : `${name}: operation ${operation} is accepted`);
  output.line(`next: heddle status ${name} --watch`);
  output.document({ cluster: name, clusterUid, operation: { id: operation }, ...(unchanged === true ? { unchanged } : {}) });
  return exitCodes.ok;
}
