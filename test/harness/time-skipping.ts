import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TestWorkflowEnvironment } from '@temporalio/testing';

const tools = join(import.meta.dirname, '..', '..', 'tools');

/** Fetching the time-skipping server takes minutes, so a test run only uses what is there. */
export async function findTimeSkipping(): Promise<string | undefined> {
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
export async function startTimeSkipping(
  program: string | undefined,
  attempts = 5,
): Promise<TestWorkflowEnvironment> {
  try {
    return await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path: program ?? '' } },
    });
  } catch (error) {
    if (attempts === 1 || !String(error).includes('did not start within')) throw error;
    return startTimeSkipping(program, attempts - 1);
  }
}
