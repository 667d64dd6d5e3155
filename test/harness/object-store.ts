import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/index.js';
import type { BucketSettings } from '../../src/store/s3/bucket.js';
import { freePort } from './free-port.js';
import { until } from './until.js';

const program = join(loadConfig({ cwd: '/' }).cacheFolder, 'versitygw', 'versitygw-1.8.0');

/** Why there can be no object store here; undefined when there can. */
export function objectStoreIsMissing(): string | undefined {
  return existsSync(program) ? undefined : 'the Versity S3 Gateway is not built: npm run setup:extras';
}

export const credentials = { accessKeyId: 'HEDDLE-TEST', secretAccessKey: 'secret-of-the-test' };

/**
 * A real S3 server on loopback, the Versity S3 Gateway, with one empty bucket. It can be stopped for a while.
 */
export interface ObjectStore {
  readonly settings: BucketSettings;
  /** Names of the objects in the bucket. */
  readonly folder: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  close(): Promise<void>;
}

export async function startObjectStore(): Promise<ObjectStore> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-test-s3-'));
  const bucket = join(folder, 'data', 'heddle-logs');
  for (const part of [bucket, join(folder, 'meta')]) mkdirSync(part, { recursive: true });
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const start = async (): Promise<void> => {
    child = spawn(
      program,
      ['--port', `127.0.0.1:${port}`, 'posix', '--sidecar', join(folder, 'meta'), join(folder, 'data')],
      {
        env: {
          PATH: '/usr/bin:/bin',
          ROOT_ACCESS_KEY: credentials.accessKeyId,
          ROOT_SECRET_KEY: credentials.secretAccessKey,
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2_000);
    });
    await until('the object store to answer', async () => {
      if (child?.exitCode !== null) throw new Error(`versitygw ended with ${child?.exitCode}: ${said}`);
      return (await fetch(endpoint).catch(() => undefined)) !== undefined;
    });
  };
  await start();
  return {
    settings: { endpoint, bucket: 'heddle-logs', region: 'us-east-1', prefix: 'heddle/' },
    folder: bucket,
    start,
    stop,
    async close() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
