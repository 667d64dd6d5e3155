import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {} from 'vitest';
import { z } from 'zod';
import { startStack, type Stack, type WorkerProcess } from '../stack.js';
import { copyExample, type Example } from './example.js';
import { serversOf, type Servers } from './postgres.js';

export const cluster = 'postgres';
/** Every character that a shell, a password file or SQL could stumble over. */
export const password = 'a b:c\\d\'e"f$g`h';

/** What a test of the PostgreSQL example works with. */
export interface OpenedPostgres {
  readonly stack: Stack;
  readonly worker: WorkerProcess;
  readonly example: Example;
  readonly servers: Servers;
  /** The reason why this machine cannot run the example. */
  readonly obstacle: string | undefined;
  close(): Promise<void>;
}

export async function openPostgres(): Promise<OpenedPostgres> {
  const stack = await startStack({ kind: 'auto' });
  const worker = await stack.startWorker();
  const servers = serversOf(stack.client, cluster);
  const example = await copyExample(cluster, stack.folder);
  const file = join(stack.folder, 'replication-password');
  await writeFile(file, `${password}\n`, { mode: 0o600 });
  await example.edit('secret: "env:POSTGRES_REPLICATION_PASSWORD"', `secret: "file:${file}"`);
  return {
    stack,
    worker,
    example,
    servers,
    obstacle: await findObstacle(stack),
    async close() {
      await servers.close();
      await stack.stop();
    },
  };
}

async function findObstacle(stack: Stack): Promise<string | undefined> {
  const { kind } = z.object({ kind: z.string() }).parse(await stack.service.call('GET', '/v1/health'));
  if (kind !== 'sandbox') return 'sandboxes need Linux, root and the right to mount';
  const { status } = spawnSync('sh', ['-c', 'command -v initdb || ls /usr/lib/postgresql/*/bin/initdb']);
  return status === 0 ? undefined : 'PostgreSQL is not installed: npm run setup:extras';
}
