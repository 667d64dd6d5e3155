import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Json } from '../model/json.js';
import { claimDataFolder } from './claim.js';
import { launch, readLogTail, type Launched } from './launch.js';
import { searchAttributeType } from './setup.js';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

export interface StartOptions {
  /** A Temporal CLI, as `findBinary` gives it. */
  readonly binary: string;
  /** Contains the database, the server's log and the record of its owner. One server at a time uses it. */
  readonly dataFolder: string;
  /** 0 selects a free port. Default: 7233; if that is in use, a free port, which is reported. */
  readonly port?: number;
  /** Default: 1000 above the port, or a free port if the port is a free one. */
  readonly uiPort?: number;
  /** Whether the Web UI is served. Default: true. */
  readonly ui?: boolean;
  /** Created if missing. Default: `default`. */
  readonly namespace?: string;
  /** Names of search attributes, to be registered before anything runs. */
  readonly searchAttributes?: readonly string[];
  /** Keys and values of Temporal's dynamic configuration. */
  readonly dynamicConfig?: Readonly<Record<string, Json>>;
  /** If not, commits do not wait for the disk, which takes a quarter off the time of tests. Default: true. */
  readonly survivesPowerFailure?: boolean;
  /** Default: `temporal-server.log` in the data folder. */
  readonly logFile?: string;
  /** Receives one line whenever something differs from these options. */
  readonly say: (line: string) => void;
}

export interface RunningServer {
  /** host:port of the frontend. */
  readonly address: string;
  /** URL of the Web UI, when there is one. */
  readonly uiAddress?: string;
  readonly namespace: string;
  readonly pid: number;
  readonly logFile: string;
  /** Settles when the server ends, with the way it ended. Never rejects. */
  readonly ended: Promise<string>;
  /** Stops the server and waits until it is gone. May be called again. */
  stop(): Promise<void>;
}

interface Ports {
  readonly port: number;
  readonly uiPort: number | undefined;
}

const defaultPort = 7233;
const startLimitMs = 120_000;
const launches = 3;
/**
 * Another process can take a port between its choice and its use; the server then logs this and the start is
 * repeated.
 */
const portTaken = 'address already in use';

/**
 * Starts a development server on 127.0.0.1 and waits until it answers. @throws Error with the end of its log.
 */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const claim = await claimDataFolder(options.dataFolder, options.say);
  const logFile = options.logFile ?? join(options.dataFolder, 'temporal-server.log');
  const namespace = options.namespace ?? 'default';
  const wanted = options.port ?? defaultPort;
  try {
    for (let left = launches; ; left--) {
      const ports = await choosePorts(options);
      const address = `127.0.0.1:${ports.port}`;
      const server = await launch(options.binary, argumentsFor(options, ports, namespace), { logFile });
      await claim.recordServer(server.pid, address);
      const problem = await waitUntilReady(server, ports.port, namespace);
      if (problem === undefined) {
        if (wanted !== 0 && ports.port !== wanted)
          options.say(`port ${wanted} is in use: Temporal listens at ${address}`);
        return {
          address,
          uiAddress: ports.uiPort === undefined ? undefined : `http://127.0.0.1:${ports.uiPort}`,
          namespace,
          pid: server.pid,
          logFile,
          ended: server.ended,
          stop: async () => {
            await server.end();
            await claim.release();
          },
        };
      }
      await server.end();
      const tail = await readLogTail(logFile);
      if (left > 1 && (tail.includes(portTaken) || (await isTaken(ports)))) continue;
      if (/file is not a database|database disk image is malformed/.test(tail))
        throw new Error(damagedText(databaseOf(options)));
      throw new Error(
        `The Temporal server did not start: ${problem}. The end of its log (${logFile}):\n${tail}`,
      );
    }
  } catch (cause) {
    await claim.release();
    throw cause;
  }
}

function databaseOf({ dataFolder }: StartOptions): string {
  return join(dataFolder, 'temporal.db');
}

function damagedText(file: string): string {
  return (
    `The Temporal server did not start: its database ${file} is damaged. Restore it from a backup, with its files -wal and -shm. ` +
    `To begin without clusters, move it away: mv '${file}' '${file}.damaged'; their machines stay.`
  );
}

async function choosePorts({ port = defaultPort, uiPort, ui = true }: StartOptions): Promise<Ports> {
  const chosen = await choosePort(port);
  const wantedUi = uiPort ?? (port === 0 ? 0 : chosen + 1000);
  return { port: chosen, uiPort: ui ? await choosePort(wantedUi) : undefined };
}

async function isTaken({ port, uiPort }: Ports): Promise<boolean> {
  return (await isOpen(port)) || (uiPort !== undefined && (await isOpen(uiPort)));
}

function argumentsFor(options: StartOptions, { port, uiPort }: Ports, namespace: string): string[] {
  // A local server does not check for newer versions; the user's own client settings are
  // not meant for it.
  const dynamicConfig = {
    'frontend.enableServerVersionCheck': false,
    // A shard's own cache is too small for a large cluster: the server would read events from
    // its database for each task.
    'history.enableHostLevelEventsCache': true,
    // A worker that is frozen, or whose network is gone, still waits for tasks as the server
    // sees it, which would hand them to it for a minute.
    'frontend.keepAliveTime': '2s',
    'frontend.keepAliveTimeout': '3s',
    // Tasks of a small cluster are not queued behind all tasks of a large one.
    'matching.enableFairness': true,
    // By default no timer fires earlier than a second after it was set, retries of activities included.
    'history.timerProcessorMaxTimeShift': '50ms',
    // By default a shard reads new tasks no more than 20 times a second, and each step of a
    // chain waits for a read.
    'history.transferProcessorMaxPollRPS': 200,
    // By default a workflow takes 10 updates at once. When the server refuses one more, it aborts
    // those that no worker has accepted yet, so that many clients would keep each other out.
    'history.maxInFlightUpdates': 200,
    ...options.dynamicConfig,
  };
  return [
    ...[
      'server',
      'start-dev',
      '--disable-config-file',
      '--disable-config-env',
      '--log-format',
      'json',
      '--log-level',
      'warn',
    ],
    ...['--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort), '--ui-disable-news-fetch']),
    // A write-ahead log needs one sync a commit; with SQLite's default journal everything took three times as
    // long.
    ...['--db-filename', databaseOf(options), '--sqlite-pragma', 'journal_mode=wal'],
    ...(options.survivesPowerFailure === false ? ['--sqlite-pragma', 'synchronous=off'] : []),
    ...Object.entries(dynamicConfig).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]),
    ...(options.searchAttributes ?? []).flatMap((name) => [
      '--search-attribute',
      `${name}=${searchAttributeType(name)}`,
    ]),
  ];
}

/** Says what kept the server from answering, undefined when it answers. */
async function waitUntilReady(
  server: Launched,
  port: number,
  namespace: string,
): Promise<string | undefined> {
  let gone: string | undefined;
  void server.ended.then((how) => (gone = how));
  let last: unknown = 'nothing listened at its port';
  for (const limit = Date.now() + startLimitMs; Date.now() < limit; await sleep(50)) {
    if (gone !== undefined) return `it ended with ${gone}`;
    if (!(await isOpen(port))) continue;
    try {
      await askForNamespace(`127.0.0.1:${port}`, namespace);
      // Another server may have answered at a port that ours lost.
      await sleep(0);
      if (gone === undefined) return undefined;
    } catch (cause) {
      last = cause;
    }
  }
  return `it did not answer within ${startLimitMs / 1000} s (${last instanceof Error ? last.message : String(last)})`;
}

async function askForNamespace(address: string, namespace: string): Promise<void> {
  const connection = Connection.lazy({ address, interceptors: [] });
  try {
    await connection.withDeadline(Date.now() + 2_000, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
  } finally {
    await connection.close();
  }
}

/** The wanted port of 127.0.0.1 when nothing listens there, else a free one; 0 asks for any. */
async function choosePort(wanted: number): Promise<number> {
  return (await tryPort(wanted)) ?? (await choosePort(0));
}

/** The system reserves the port, usually below 1024, for other users. */
class PortRefusedError extends Error {
  override readonly name = 'PortRefusedError';

  constructor(port: number, cause: unknown) {
    super(`this user may not listen at port ${port}: choose a port from 1024, or 0 for a free one`, {
      cause,
    });
  }
}

/** Whether something accepts connections at a port of 127.0.0.1. */
async function isOpen(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function tryPort(wanted: number): Promise<number | undefined> {
  const server = createServer();
  try {
    server.listen({ host: '127.0.0.1', port: wanted, exclusive: true });
    await once(server, 'listening');
    const address = server.address();
    return address !== null && typeof address === 'object' ? address.port : undefined;
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'EADDRINUSE') return undefined;
    // That is worth an error, not another port.
    if (code === 'EACCES') throw new PortRefusedError(wanted, cause);
    throw cause;
  } finally {
    server.close();
  }
}
