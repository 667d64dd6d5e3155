import { isJsonObject, type JsonObject } from '../../model/json.js';
import type { CreateRecord } from '../../plugins/contract.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import { PluginError } from '../../plugins/errors.js';
import { copyPlainJson } from '../../schema/plain-json.js';
import { formatProblem } from '../../schema/problem.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import { recordHeartbeat } from '../recorded-mark.js';
import { resetTime } from './superseded.js';

/** Together the steps are not larger than the result that they become. */
const limits = { bytes: 8 * 1_024, depth: 16 };

/**
 * The record of CREATE of one machine, in the heartbeat of its task. The heartbeats of one activity may be
 * about several machines, so the record is that of its key alone.
 */
export function openCreateRecord(
  parts: Pick<ActivityParts, 'runs'>,
  attempt: Attempt,
  request: Pick<TaskRequest, 'clusterId' | 'createBegun'>,
  key: string,
): CreateRecord {
  return {
    async read() {
      const recorded = recordedSteps(attempt, key);
      if (Object.keys(recorded).length > 0) return recorded;
      // The first attempt after a reset may follow others that the reset removed from the history.
      const isFirst =
        attempt.isFirst && request.createBegun !== true && (await resetTime(parts)) === undefined;
      return isFirst ? undefined : {};
    },
    async write(made) {
      const copy = copyPlainJson(made, limits);
      if (!copy.ok)
        throw new PluginError(
          'Invalid',
          `the record of CREATE: ${copy.problems.map(formatProblem).join('; ')}`,
        );
      // The steps were made, so they stay marked. Two attempts that continue at the same step
      // would make its part twice.
      attempt.mark({ steps: { [key]: copy.value } });
      await recordHeartbeat(parts, attempt, 'the steps of CREATE');
    },
  };
}

/** The recorded steps of a machine's CREATE; none if its plugin records none. */
export function recordedSteps(attempt: Pick<Attempt, 'marked'>, key: string): JsonObject {
  const mark = attempt.marked();
  const steps = isJsonObject(mark) ? mark['steps'] : undefined;
  const own = isJsonObject(steps) ? steps[key] : undefined;
  return isJsonObject(own) ? own : {};
}
