import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { inject } from 'vitest';
import { stringify } from 'yaml';
import { HeddleClient } from '../../src/client/index.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { heddle } from '../../src/temporal-plugin.js';
import { cleanAfterFile } from './leftovers.js';
import { makeNamespace } from './namespace.js';
import { until } from './until.js';

export interface StackOptions {
  /** Default: the run's own server. */
  readonly temporalAddress?: string;
  /** Default: the built product. */
  readonly distPath?: string;
  /** One that exists already. Default: a new one. */
  readonly namespace?: string;
  readonly kind?: 'directory' | 'sandbox' | 'auto';
  /** Provider accounts besides `local`; `service` stands for another account of the machine service. */
  readonly accounts?: Readonly<Record<string, object | 'service'>>;
  /** Added to heddle.yaml. */
  readonly config?: object;
  /** Added to the environment of workers. */
  readonly env?: Readonly<Record<string, string>>;
  /** How long the client waits for a busy worker, in ms. Default: a minute. */
  readonly busyMs?: number;
}

/** A namespace, a machine service and workers of one test file; everything real, everything its own. */
export interface Stack {
  readonly client: HeddleClient;
  readonly namespace: string;
  readonly service: MachineService;
  readonly folder: string;
  /**
   * Starts a worker process with a data folder of its own name, of another build where one is given; resolves
   * when it polls.
   */
  startWorker(name?: string, distPath?: string): Promise<WorkerProcess>;
  /** A builder of images, likewise. */
  startBuilder(name?: string, distPath?: string): Promise<WorkerProcess>;
  stop(): Promise<void>;
}

export interface WorkerProcess {
  readonly pid: number;
  readonly dataFolder: string;
  kill(): Promise<void>;
  stop(): Promise<void>;
  output(): string;
}

export interface MachineService {
  readonly endpoint: string;
  readonly apiKeyFile: string;
  readonly pid: number;
  call(method: string, path: string, body?: object): Promise<unknown>;
  /** Accepted calls of one operation, oldest first. */
  journal(operation: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  machines(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Arms a scripted fault; gives its id. */
  arm(fault: object): Promise<string>;
  /** Forgets a fault; answers that it held go out. */
  release(fault: string): Promise<void>;
  /** How many calls a fault holds now. */
  held(fault: string): Promise<number>;
}

/** It is stopped after the tests of the file. */
export async function startStack(wanted: StackOptions = {}): Promise<Stack> {
  const options: Options = {
    ...wanted,
    temporalAddress: wanted.temporalAddress ?? inject('temporalAddress'),
    distPath: wanted.distPath ?? inject('distPath'),
  };
  const folder = await mkdtemp(join(tmpdir(), 'heddle-test-'));
  const children: ChildProcess[] = [];
  const connection = await Connection.connect({ address: options.temporalAddress });
  const namespace = options.namespace ?? (await makeNamespace(connection, 'test'));
  const service = await startMachineService(options, folder, children);
  const keys = join(folder, 'keys');
  await mkdir(folder, { recursive: true });
  const keyRing = openKeyRing({ folder: keys, create: true });
  const client = new HeddleClient(
    new Client({ connection, namespace, plugins: [heddle({ keys: keyRing, namespace })] }),
    { by: 'test', busyMs: options.busyMs ?? 60_000 },
  );
  const shared = { folder, namespace, keys, service, children };
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    for (const child of children.toReversed()) await end(child, 'SIGTERM');
    await connection.close();
    await rm(folder, { recursive: true, force: true });
  };
  const stack: Stack = {
    client,
    namespace,
    service,
    folder,
    startWorker: (name = 'worker', distPath = options.distPath) =>
      startWorker({ ...options, distPath }, { ...shared, name }),
    startBuilder: (name = 'builder', distPath = options.distPath) =>
      startWorker({ ...options, distPath }, { ...shared, name, words: ['--builder'] }),
    stop: () => (stopped ??= stop()),
  };
  cleanAfterFile(() => stack.stop());
  return stack;
}

type Options = StackOptions & Required<Pick<StackOptions, 'temporalAddress' | 'distPath'>>;

async function startMachineService(
  options: Options,
  folder: string,
  children: ChildProcess[],
): Promise<MachineService> {
  const data = join(folder, 'machines');
  const words = [
    join(options.distPath, 'local', 'main.js'),
    '--data',
    data,
    '--kind',
    options.kind ?? 'directory',
    '--boot-delay',
    '50',
    '--delete-delay',
    '20',
  ];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const about = JSON.parse(await firstLine(child)) as { endpoint: string; apiKeyFile: string; pid: number };
  const apiKey = (await readFile(about.apiKeyFile, 'utf8')).trim();
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${about.endpoint}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const listOf = async (path: string, key: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    ((await call('GET', path)) as Record<string, readonly Readonly<Record<string, unknown>>[]>)[key] ?? [];
  return {
    ...about,
    call,
    journal: (operation) => listOf(`/v1/journal?operation=${operation}&limit=10000`, 'entries'),
    machines: () => listOf('/v1/machines', 'machines'),
    arm: async (fault) => ((await call('POST', '/v1/faults', fault)) as { id: string }).id,
    release: async (fault) => {
      await call('DELETE', `/v1/faults/${fault}`);
    },
    held: async (fault) =>
      Number((await listOf('/v1/faults', 'faults')).find(({ id }) => id === fault)?.['held'] ?? 0),
  };
}

interface WorkerParts {
  readonly folder: string;
  readonly name: string;
  readonly namespace: string;
  readonly keys: string;
  readonly service: MachineService;
  readonly children: ChildProcess[];
  readonly words?: readonly string[];
}

async function startWorker(options: Options, parts: WorkerParts): Promise<WorkerProcess> {
  const dataFolder = join(parts.folder, parts.name);
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const config = join(parts.folder, `${parts.name}.yaml`);
  const local = {
    type: 'local',
    fields: { endpoint: parts.service.endpoint, apiKey: { secret: `file:${parts.service.apiKeyFile}` } },
  };
  await writeFile(
    config,
    stringify({
      dataFolder,
      keys: { folder: parts.keys },
      providers: Object.fromEntries(
        Object.entries({ local: 'service', ...options.accounts }).map(([name, account]) => [
          name,
          account === 'service' ? local : account,
        ]),
      ),
      ...options.config,
    }),
  );
  const child = spawn(
    process.execPath,
    [join(options.distPath, 'worker/main.js'), '--config', config, ...(parts.words ?? [])],
    {
      env: {
        PATH: '/usr/bin:/bin',
        HOME: dataFolder,
        TEMPORAL_ADDRESS: options.temporalAddress,
        TEMPORAL_NAMESPACE: parts.namespace,
        ...options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  parts.children.push(child);
  let output = '';
  const read = (chunk: string): void => {
    output += chunk;
  };
  child.stdout.setEncoding('utf8').on('data', read);
  child.stderr.setEncoding('utf8').on('data', read);
  await until(`worker ${parts.name} is ready`, () => {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
    return output.includes('worker is ready');
  }).catch(async (error: unknown) => {
    await end(child, 'SIGKILL');
    throw new Error(`worker ${parts.name} did not start:\n${output}`, { cause: error });
  });
  return {
    pid: child.pid ?? 0,
    dataFolder,
    output: () => output,
    kill: () => end(child, 'SIGKILL'),
    stop: () => end(child, 'SIGTERM'),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'exit');
  child.kill(signal);
  await closed;
}

async function firstLine(child: ChildProcess): Promise<string> {
  let output = '';
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  await until('the machine service is ready', () => {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the machine service ended with ${child.exitCode ?? child.signalCode}:\n${errors}`);
    return output.includes('\n');
  });
  return output.split('\n')[0] ?? '';
}
