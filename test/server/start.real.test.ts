import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { describeError } from '../../src/cli/report-error.js';
import { checkServer } from '../../src/server/check.js';
import { isRunning, markOf } from '../../src/detached/process-mark.js';
import { startServer, type RunningServer, type StartOptions } from '../../src/server/start.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let said: string[];
let servers: RunningServer[];

beforeEach(async () => {
  folder = newFolder();
  [said, servers] = [[], []];
});
afterEach(() => Promise.all(servers.map((server) => server.stop())));

async function start(changes: Partial<StartOptions> = {}): Promise<RunningServer> {
  const options = {
    binary: inject('temporalBinary'),
    dataFolder: folder,
    port: 0,
    ui: false,
    say: (line: string) => said.push(line),
  };
  const server = await startServer({ ...options, ...changes });
  servers.push(server);
  return server;
}

async function withClient<T>(server: { address: string }, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: server.address });
  try {
    return await work(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

const startWorkflow = (server: RunningServer) =>
  withClient(server, (client) =>
    client.workflow.start('sleeper', { workflowId: 'cluster/kept', taskQueue: 'nobody' }),
  );
const statusOf = (server: RunningServer) =>
  withClient(
    server,
    async (client) => (await client.workflow.getHandle('cluster/kept').describe()).status.name,
  );

test('a damaged database is reported with its file and the remedy', async () => {
  const file = join(folder, 'temporal.db');
  await writeFile(file, Buffer.alloc(8_192, 'x'));
  await expect(start()).rejects.toThrow(
    `its database ${file} is damaged. Restore it from a backup, with its files -wal and -shm. To begin without clusters, move it away: mv '${file}'`,
  );
});

describe('stopping and starting', () => {
  test('keeps the data, and leaves neither process nor claim', async () => {
    const first = await start({ searchAttributes: ['HeddleCluster'] });
    await startWorkflow(first);
    const process1 = await markOf(first.pid);
    await first.stop();
    expect(process1 !== undefined && (await isRunning(process1))).toBe(false);
    await expect(readFile(join(folder, 'temporal-server.json'))).rejects.toThrow('ENOENT');

    const second = await start({ searchAttributes: ['HeddleCluster'] });
    expect(await statusOf(second)).toBe('RUNNING');
  });

  test('keeps the data when the server is killed, reports how it ended, and can start it again', async () => {
    const first = await start();
    await startWorkflow(first);
    process.kill(first.pid, 'SIGKILL');
    expect(await first.ended).toBe('signal SIGKILL');
    expect(await statusOf(await start())).toBe('RUNNING');
  });

  test('serves the Web UI, whose settings name no codec server', async () => {
    const server = await start({ ui: true, namespace: 'looms' });
    const settings: unknown = await (await fetch(`${server.uiAddress}/api/v1/settings`)).json();
    expect(settings).toMatchObject({ Codec: { Endpoint: '' } });
    expect(server.namespace).toBe('looms');
  });
});

describe('concurrent servers', () => {
  test('a second start of the same data folder is refused with its owner', async () => {
    const first = await start();
    const second = await start().catch(describeError);
    expect(second).toMatchObject({
      code: 'Refused',
      message: expect.stringContaining(`in use: process ${process.pid} runs it at ${first.address}`),
    });
    await expect(checkServer({ address: first.address })).resolves.toMatchObject({ serverVersion: '1.32.0' });
  });

  test('two data folders have a server each, even for the same port', async () => {
    const blocker = createServer();
    blocker.listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const address = blocker.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    try {
      const [a, b] = await Promise.all(
        ['a', 'b'].map((name) => start({ dataFolder: join(folder, name), port })),
      );
      expect(new Set([a?.address, b?.address, `127.0.0.1:${port}`]).size).toBe(3);
      expect(
        said.filter((line) => line.includes(`port ${port} is in use: Temporal listens at`)),
      ).toHaveLength(2);
    } finally {
      blocker.close();
    }
  });
});

describe('when the process that started it is killed', () => {
  /** Starts a server in a process of its own, kills that process, and returns the server's record. */
  async function abandon(path: string | undefined) {
    const module = pathToFileURL(join(inject('distPath'), 'server', 'start.js')).href;
    const options = JSON.stringify({
      binary: inject('temporalBinary'),
      dataFolder: folder,
      port: 0,
      ui: false,
    });
    const code = `const { startServer } = await import('${module}');
      const server = await startServer({ ...${options}, say() {} });
      console.log(server.pid); setInterval(() => {}, 1000);`;
    const env = path === undefined ? {} : { env: { PATH: path } };
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], {
      ...env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = (await once(parent.stdout, 'data')) as [Buffer];
    const record = await markOf(Number(output.toString()));
    parent.kill('SIGKILL');
    await once(parent, 'close');
    if (record === undefined) throw new Error('the server of the killed process was never seen');
    return record;
  }

  test.runIf(process.platform === 'linux')('the kernel ends the server if setpriv is installed', async () => {
    const server = await abandon(undefined);
    while (await isRunning(server)) await sleep(50);
    await start();
    expect(said).toEqual([]);
  });

  test('the next start of that data folder ends it otherwise', async () => {
    const server = await abandon('/nonexistent');
    expect(await isRunning(server)).toBe(true);
    await start();
    expect(await isRunning(server)).toBe(false);
    expect(said.join()).toContain(`ending the Temporal server (pid ${server.pid})`);
  });

  test('another process with the reused pid is left alone', async () => {
    const stranger = spawn('sleep', ['60']);
    const other = { pid: stranger.pid, started: 'another boot:1' };
    await writeFile(join(folder, 'temporal-server.json'), JSON.stringify({ owner: other, server: other }));
    await start();
    expect(stranger.exitCode).toBeNull();
    expect(said).toEqual([]);
    stranger.kill();
    await once(stranger, 'close');
  });
});

describe('failed starts', () => {
  test('are repeated if another process took the port first', async () => {
    const binary = join(folder, 'loses-a-port-once');
    await writeFile(
      binary,
      `#!/bin/sh
if mkdir '${folder}/lost' 2>/dev/null; then
  echo 'listen tcp 127.0.0.1:1: bind: address already in use'
  exit 1
fi
exec '${inject('temporalBinary')}' "$@"
`,
      { mode: 0o700 },
    );
    const server = await start({ binary });
    expect(await readFile(server.logFile, 'utf8')).toContain('address already in use');
  });

  test('show the end of the log, and can be repeated', async () => {
    await expect(start({ binary: '/bin/false' })).rejects.toThrow(
      'did not start: it ended with exit code 1. The end of its log',
    );
    await expect(start({ searchAttributes: ['Bad=Name'] })).rejects.toThrow(
      /did not start: it ended with exit code 1\.[^]*\n.*invalid search attribute/,
    );
    await start({ dynamicConfig: { 'history.maxInFlightUpdates': 1 } });
  });

  test('an unreadable claim is not overridden', async () => {
    await writeFile(join(folder, 'temporal-server.json'), 'torn');
    await expect(start()).rejects.toThrow('remove it if no process uses it');
  });
});
