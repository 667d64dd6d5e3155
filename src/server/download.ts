import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { childEnvironment, networkVariables } from '../config/child-environment.js';

export interface DownloadOptions {
  /** The file to be made. */
  readonly target: string;
  /** The release of the CLI, like 1.9.1. */
  readonly version: string;
  /** How long nothing may arrive before the download is given up. */
  readonly stallMs?: number;
}

// The SDK cannot fetch without starting a server, and its fetch cannot be cancelled: hence a process of its own.
const fetchInChild = `
  const { TestWorkflowEnvironment } = require(process.argv[1]);
  const executable = { type: 'cached-download', version: 'v' + process.argv[3], downloadDir: process.argv[2] };
  TestWorkflowEnvironment.createLocal({ server: { executable } }).then((env) => env.teardown()).then(
    () => process.exit(0),
    (error) => { console.error(error.message); process.exit(1); },
  );`;

/**
 * Fetches the Temporal CLI by the SDK's own download (temporal.download) to `target`, whole or not at all.
 * Throws when nothing arrives for a while, with the SDK's words otherwise.
 */
export async function downloadBinary({ target, version, stallMs = 20_000 }: DownloadOptions): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(join(dirname(target), '.download-'));
  try {
    await runDownload(folder, version, stallMs);
    const file = (await readdir(folder)).find((name) => !name.endsWith('.downloading'));
    if (file === undefined) throw new Error('the SDK reported a download but left no file');
    await rename(join(folder, file), target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runDownload(folder: string, version: string, stallMs: number): Promise<void> {
  const sdk = createRequire(import.meta.url).resolve('@temporalio/testing');
  const child = spawn(process.execPath, ['-e', fetchInChild, sdk, folder, version], {
    stdio: ['ignore', 'ignore', 'pipe'], env: childEnvironment({ pass: networkVariables }),
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (words += chunk));

  let received = 0;
  let progressAt = Date.now();
  let stalled = false;
  const watch = setInterval(() => {
    void bytesIn(folder).then((bytes) => {
      if (bytes !== received) [received, progressAt] = [bytes, Date.now()];
      if (Date.now() - progressAt < stallMs) return;
      stalled = true;
      child.kill('SIGKILL');
    });
  }, 500);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) return;
  } finally {
    clearInterval(watch);
  }
  if (stalled) throw new Error(`nothing arrived from temporal.download for ${stallMs / 1000} s`);
  throw new Error(words.trim().split('\n').at(-1) || 'the download ended without a reason');
}

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name)).then((info) => info.size, () => 0)));
  return sizes.reduce((sum, size) => sum + size, 0);
}
