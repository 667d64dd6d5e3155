import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { inject } from 'vitest';
import { shareServerTime } from '../../src/client/server-clock.js';
import { type Stack, type StackOptions, startStack } from './stack.js';

const tools = join(import.meta.dirname, '..', '..', 'tools');

/** Fetching the time-skipping server takes minutes, so a test run only uses what is there. */
async function findProgram(): Promise<string | undefined> {
  const environment = pathToFileURL(join(tools, 'environment.mjs')).href;
  const cache = tell(
    '--input-type=module',
    '--eval',
    `process.stdout.write((await import(${JSON.stringify(environment)})).cacheFolder())`,
  );
  const folder = join(cache ?? '', 'temporal-test-server');
  const isFetched =
    cache !== undefined &&
    existsSync(folder) &&
    (await readdir(folder, { recursive: true })).some((file) => file.endsWith('/temporal-test-server'));
  return isFetched ? tell(join(tools, 'get-time-skipping.mjs')) : undefined;
}

/** What a program of Node prints; undefined when it fails, as it does without Java. */
function tell(...words: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync(process.execPath, [...words], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** The SDK waits five seconds for the server, which a busy machine takes longer to start. */
async function startServer(attempts = 5): Promise<TestWorkflowEnvironment> {
  try {
    return await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path: program ?? '' } },
    });
  } catch (error) {
    if (attempts === 1 || !String(error).includes('did not start within')) throw error;
    return startServer(attempts - 1);
  }
}

const program = await findProgram();

/** `npm run setup:extras` installs the server, which needs Java. */
export const cannotSkipTime = program === undefined;

export interface SkippedTime {
  readonly time: TestWorkflowEnvironment;
  /** With a worker. */
  readonly stack: Stack;
  readonly skip: (duration: Parameters<TestWorkflowEnvironment['sleep']>[0]) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** A stack on a Temporal server that skips time. */
export async function startWithSkippedTime(options: StackOptions = {}): Promise<SkippedTime> {
  const time = await startServer();
  const stack = await startStack({
    temporalAddress: time.address,
    distPath: inject('distPath'),
    namespace: 'default',
    ...options,
  });
  await stack.startWorker();
  // This server does not show its clock.
  let now: number | undefined;
  shareServerTime(stack.client.temporal.connection, () => now);
  return {
    time,
    stack,
    async skip(duration) {
      await time.sleep(duration);
      now = await time.currentTimeMs();
    },
    async stop() {
      await stack.stop();
      await time.teardown();
    },
  };
}
