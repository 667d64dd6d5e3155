import type { WorkflowInterceptors } from '@temporalio/workflow';
import { interceptors as inbox } from './inbox.js';
import { interceptors as messageGuard } from './message-guard.js';
import { interceptors as noEarlyQuery } from './no-early-query.js';
import { interceptors as recordedTime } from './recorded.js';
import { interceptors as genuineOutcomes } from './genuine-outcomes.js';

/** All interceptors of a bundle with Heddle's workflows; the first is the outermost. */
export const interceptors = (): WorkflowInterceptors => {
  const all = [noEarlyQuery, genuineOutcomes, messageGuard, recordedTime, inbox].map((make) => make());
  return {
    inbound: all.flatMap(({ inbound = [] }) => inbound),
    outbound: all.flatMap(({ outbound = [] }) => outbound),
    internals: all.flatMap(({ internals = [] }) => internals),
  };
};
