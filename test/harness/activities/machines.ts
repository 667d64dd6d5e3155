import type { Info } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createAbsences } from '../../../src/activities/provider/absence.js';
import { createTaskActivities, type TaskActivities } from '../../../src/activities/table.js';
import type { ActivityParts } from '../../../src/activities/parts.js';
import type { Action } from '../../../src/model/action.js';
import type { JsonObject } from '../../../src/model/json.js';
import type { ProbedNode, ProbeReply } from '../../../src/model/node/probe.js';
import type { TaskOutcome, TaskRequest } from '../../../src/model/node/task-request.js';
import { mergePayload } from '../../../src/model/node/payload.js';
import type { Registry } from '../../../src/plugins/registry.js';
import type { Descriptor } from '../../../src/schema/descriptor.js';
import type { TestService } from '../local/service.js';
import { until } from '../until.js';
import { openBench, request } from './parts.js';

export interface MachineBench {
  readonly service: TestService;
  readonly parts: ActivityParts;
  run(action: Action, request: TaskRequest, attempt?: number, times?: ServerTimes): Promise<TaskOutcome>;
  looks: Pick<TaskActivities, 'PROBE_NODES' | 'FIND_MACHINES' | 'FIND_LEAKS' | 'NODE_REUSED' | 'READ_QUOTA'>;
  survey(nodes: readonly ProbedNode[], attempt?: number): Promise<ProbeReply>;
  /** CREATE and CONFIRM. */
  up(nodeId: string, more?: Partial<TaskRequest>): Promise<ProbedNode>;
  close(): Promise<void>;
}

/** Of an attempt, by the server's clock, in ms since the epoch. */
export type ServerTimes = Pick<Info, 'scheduledTimestampMs' | 'currentAttemptScheduledTimestampMs'>;

/** The task was scheduled long before its attempt, which another one preceded. */
const hourMs = 3_600_000;
const longAgo: ServerTimes = { scheduledTimestampMs: 1, currentAttemptScheduledTimestampMs: hourMs };
const firstAttempt: ServerTimes = { scheduledTimestampMs: 1, currentAttemptScheduledTimestampMs: 1 };

export interface MachineBenchOptions {
  /** What the plugin `local` says of itself. */
  readonly descriptor?: Partial<Descriptor>;
  readonly apiKey?: string;
  /** Another bench, whose parts are used again. */
  readonly like?: MachineBench;
  readonly changes?: Partial<ActivityParts>;
}

/** Activities on a real machine service: its account is called `here`. */
export async function openMachineBench(
  service: TestService,
  { descriptor = {}, apiKey = service.apiKey, like, changes = {} }: MachineBenchOptions = {},
): Promise<MachineBench> {
  const bench = like ?? (await openBench('async create() {} async confirm() {} async delete() {}'));
  const providers = {
    here: { type: 'local', site: 'here', fields: { endpoint: service.about.endpoint, apiKey } },
  };
  const parts: ActivityParts = {
    ...bench.parts,
    registry: describedAs(bench.parts.registry, descriptor),
    providers,
    absences: createAbsences(),
    ...changes,
  };
  const tasks = createTaskActivities(parts);
  const inActivity =
    <Request, Reply>(work: (request: Request) => Promise<Reply>, attempt = 1, times = longAgo) =>
    (asked: Request): Promise<Reply> =>
      new MockActivityEnvironment(
        { attempt, startToCloseTimeoutMs: 120_000, scheduleToCloseTimeoutMs: 120_000 + hourMs, ...times },
        { logger: new DefaultLogger('ERROR') },
      ).run(work, asked);
  const run: MachineBench['run'] = (
    action,
    asked,
    attempt = 1,
    times = action === 'CREATE' && attempt === 1 ? firstAttempt : longAgo,
  ) => inActivity(tasks[action], attempt, times)(asked);
  return {
    service,
    parts,
    run,
    looks: {
      PROBE_NODES: inActivity(tasks.PROBE_NODES),
      FIND_MACHINES: inActivity(tasks.FIND_MACHINES),
      FIND_LEAKS: inActivity(tasks.FIND_LEAKS),
      READ_QUOTA: inActivity(tasks.READ_QUOTA),
      NODE_REUSED: inActivity(tasks.NODE_REUSED),
    },
    survey: (nodes, attempt) =>
      inActivity(tasks.PROBE_NODES, attempt)({ clusterId: 'web', provider: account, nodes }),
    async up(nodeId, more) {
      const asked = taskOn(nodeId, {}, more);
      const created = mergePayload(asked.config, (await run('CREATE', asked)).result ?? {});
      const confirmed = await until(`${nodeId} is up`, () =>
        run('CONFIRM', { ...asked, config: created }).catch(() => undefined),
      );
      return {
        nodeId,
        incarnation: asked.incarnation,
        keyUid: asked.keyUid ?? asked.clusterUid,
        config: mergePayload(created, confirmed.result ?? {}),
      };
    },
    close: () => (like === undefined ? bench.close() : Promise.resolve()),
  };
}

export const account = { name: 'here', type: 'local', fields: {} };

export function taskOn(
  nodeId: string,
  config: JsonObject = {},
  more: Partial<TaskRequest> = {},
): TaskRequest {
  const base = { hostname: nodeId, flavor: 'tiny', image: 'host', ...config };
  return request(
    {},
    { taskId: `u/${nodeId}#1/-/CREATE/1`, nodeId, provider: account, config: base, ...more },
  );
}

function describedAs(registry: Registry, changes: Partial<Descriptor>): Registry {
  return {
    ...registry,
    provider: (type) => {
      const plugin = registry.provider(type);
      return { ...plugin, descriptor: { ...plugin.descriptor, ...changes } };
    },
  };
}
