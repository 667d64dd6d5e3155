import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Script } from '../../src/plugins/contract.js';
import type { ConnectionPool } from '../../src/ssh/pool.js';
import { runOnce } from '../../src/ssh/run.js';
import type { OutputListener, RunEnd, RunOptions } from '../../src/ssh/run-options.js';
import { runFolderName } from '../../src/ssh/run-upload.js';
import type { TestNode } from './ssh-server.js';

/** Runs a script on a test node as the product does, through a pool. */
export function runOn(
  node: TestNode,
  pool: ConnectionPool,
  runId: string,
  script: Script,
  options: Partial<RunOptions> = {},
): Promise<RunEnd> {
  return runOnce({ runId, script }, { connect: () => pool.acquire(node.target), ...options });
}

export function runFolder(node: TestNode, runId: string): string {
  return join(node.runs, runFolderName(runId));
}

/**
 * How often something happened on the node: scripts of these tests leave a line each time they are started.
 */
export function countLines(path: string): number {
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0;
}

/** Collects output as it comes. */
export function collect(): {
  readonly listener: OutputListener;
  readonly text: (stream: 'stdout' | 'stderr') => string;
} {
  const chunks: { readonly stream: string; readonly chunk: Buffer }[] = [];
  return {
    listener: (stream, chunk) => {
      chunks.push({ stream, chunk: Buffer.from(chunk) });
    },
    text: (stream) =>
      Buffer.concat(chunks.filter((one) => one.stream === stream).map(({ chunk }) => chunk)).toString(),
  };
}
