import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { heddleSearchAttributes } from '../../src/server/setup.js';
import { type RunningServer, startServer } from '../../src/server/start.js';
import { startHeddle } from '../harness/cli/run-heddle.js';
import { startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

describe('the processes of a worker', () => {
  let folder: string;
  beforeAll(() => {
    folder = newFolder();
  });

  const start = (port: number): Promise<RunningServer> =>
    startServer({
      binary: inject('temporalBinary'),
      dataFolder: join(folder, 'server'),
      port,
      ui: false,
      searchAttributes: heddleSearchAttributes,
      say: () => undefined,
    });

  const childrenOf = (parent: number | undefined): readonly number[] =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => {
        try {
          const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
          return Number(stat.slice(stat.lastIndexOf(') ') + 4).split(' ')[0]) === parent;
        } catch {
          return false;
        }
      });
  const runs = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };

  it.each(['while it starts', 'while it works'])('end if `heddle worker` is killed %s', async (when) => {
    const stack = await startStack();
    try {
      await stack.startWorker();
      const cli = startHeddle(['worker', '--config', join(stack.folder, 'worker.yaml')], {
        distPath: inject('distPath'),
        env: { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: stack.namespace },
      });
      const [worker = 0] = await until('its worker', () => {
        const children = childrenOf(cli.child.pid);
        return children.length > 0 ? children : undefined;
      });
      if (when === 'while it works')
        await until('the worker to be ready', () => cli.stdout().includes('worker is ready'));
      cli.child.kill('SIGKILL');
      await until('the worker to be gone', () => !runs(worker));
    } finally {
      await stack.stop();
    }
  });

  it('end with the reason if the database of the server was replaced', async () => {
    let server = await start(0);
    const { address } = server;
    const stack = await startStack({
      temporalAddress: address,
      distPath: inject('distPath'),
      namespace: 'default',
    });
    try {
      const worker = await stack.startWorker();
      await server.stop();
      server = await start(Number(address.split(':')[1]));
      const { namespaceInfo: same } = await stack.client.temporal.workflowService.describeNamespace({
        namespace: 'default',
      });
      await server.stop();
      await rm(join(folder, 'server'), { recursive: true });
      expect(runs(worker.pid)).toBe(true);
      server = await start(Number(address.split(':')[1]));
      await until('the worker to end', () => !runs(worker.pid));
      expect(worker.output()).toContain(
        `The worker ended. The Temporal server at ${address} now has another database: namespace default is`,
      );
      expect(worker.output()).toContain(`and was ${same?.id} when this worker started`);
    } finally {
      await stack.stop();
      await server.stop();
    }
  });
});
