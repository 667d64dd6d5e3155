import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createTaskActivities } from '../../../src/activities/table.js';
import type { ActivityParts } from '../../../src/activities/parts.js';
import type { Action } from '../../../src/model/action.js';
import type { TaskOutcome, TaskRequest } from '../../../src/model/node/task-request.js';
import { loadRegistry } from '../../../src/plugins/registry.js';
import { openBench, request } from '../activities/parts.js';

/** Files of a plugin folder by their paths; what begins with `#!` may be executed, objects become JSON. */
export type Files = Readonly<Record<string, string | object>>;

export interface ProgramBench {
  readonly folder: string;
  readonly logged: readonly string[];
  readonly parts: ActivityParts;
  /** Runs one attempt of a task of a provider, whose user field `how` says what it does. */
  run(action: Action, how: string, options?: RunOptions): Promise<TaskOutcome>;
  close(): Promise<void>;
}

export interface RunOptions {
  /** The provider whose task it is; `p` unless given. */
  readonly plugin?: string;
  readonly attempt?: number;
  readonly more?: Partial<TaskRequest>;
  /** The attempt's time, in ms. */
  readonly timeMs?: number;
  /** Gets a function that cancels the task, as soon as it runs. */
  readonly onStart?: (cancel: () => void) => void;
}

export interface BenchOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Variables that heddle.yaml grants, by plugin. */
  readonly passed?: Readonly<Record<string, readonly string[]>>;
  readonly changes?: Partial<ActivityParts>;
}

/** The real activities on plugins of a folder made for the test; the environment is what the worker has. */
export async function openPrograms(
  files: Files,
  { environment = {}, passed = {}, changes = {} }: BenchOptions = {},
): Promise<ProgramBench> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle programs '));
  writeFiles(folder, files);
  const registry = await loadRegistry({
    folders: [folder],
    log: { info: () => undefined },
    programs: { environment: { PATH: '/usr/local/bin:/usr/bin:/bin', ...environment }, passed, limits: {} },
  });
  const types = registry.providers().map(({ descriptor }) => descriptor.name);
  const providers = Object.fromEntries(types.map((type) => [type, { type, site: 'here', fields: {} }]));
  const bench = await openBench('create() {} confirm() {} delete() {}', { registry, providers, ...changes });
  const activities = createTaskActivities(bench.parts);
  return {
    folder,
    logged: bench.logged,
    parts: bench.parts,
    run: (action, how, { plugin = 'p', attempt = 1, more = {}, timeMs = 600_000, onStart } = {}) => {
      const now = Date.now();
      const environmentOfAttempt = new MockActivityEnvironment(
        {
          attempt,
          startToCloseTimeoutMs: timeMs,
          scheduleToCloseTimeoutMs: 0,
          scheduledTimestampMs: now,
          currentAttemptScheduledTimestampMs: now,
        },
        { logger: new DefaultLogger('ERROR') },
      );
      const activity: (asked: TaskRequest) => Promise<TaskOutcome> = activities[action];
      const running: Promise<TaskOutcome> = environmentOfAttempt.run(
        activity,
        request({ how }, { provider: { name: plugin, type: plugin, fields: { how } }, ...more }),
      );
      onStart?.(() => environmentOfAttempt.cancel());
      return running;
    },
    close: async () => {
      await bench.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function writeFiles(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    if (typeof content === 'string' && content.startsWith('#!')) chmodSync(file, 0o755);
  }
}

const how = { title: 'How', type: 'string' };

/** The descriptor of provider `p`; a program unless it names a class. */
export function providerDescriptor(changes: object): object {
  return {
    name: 'p',
    type: 'provider',
    version: '1.0.0',
    description: 'P',
    idempotency: 'token',
    callDeadlineMs: 300_000,
    fields: { user: { how } },
    ...changes,
  };
}

export async function failureOf(attempt: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await attempt.then(
    (outcome) => new Error(`it did not fail: ${JSON.stringify(outcome)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApplicationFailure)) throw error;
  return error;
}
