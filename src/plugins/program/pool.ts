import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pLimit, { type LimitFunction } from 'p-limit';
import { z } from 'zod';
import { stopMs } from '../clients.js';
import { Program, silent, type LaunchOptions } from './program.js';
import { parseObject, type LoadMessage } from './protocol.js';
import type { Sandbox } from './sandbox.js';
import { callAgain, callOnce, type Call, type Finish } from './session.js';

/** A permit for one call, with a process that is ready for it. It must be released, used or not. */
export interface Reservation {
  /** Makes the call and releases the reservation. */
  run(call: Call): Promise<Finish>;
  isReleased(): boolean;
  release(): void;
}

/** The processes of one plugin, limited in number. */
export interface ProgramPool {
  /** Resolves when a call can start immediately. Rejects with the signal's reason. */
  reserve(signal: AbortSignal): Promise<Reservation>;
  close(): Promise<void>;
}

interface Prepared {
  readonly run: (call: Call) => Promise<Finish>;
  /** Called when the reservation is released without a call. */
  readonly unused: () => void;
}

/** Waits in a queue for a permit. @returns the function that releases it. */
export function takePermit(limit: LimitFunction, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    void limit(async () => {
      signal.removeEventListener('abort', leave);
      if (!signal.aborted) await new Promise<void>((release) => resolve(release));
    });
  });
}

async function reserve(
  limit: LimitFunction,
  signal: AbortSignal,
  prepare: () => Prepared | Promise<Prepared>,
): Promise<Reservation> {
  const releasePermit = await takePermit(limit, signal);
  try {
    const { run, unused } = await prepare();
    let state: 'reserved' | 'running' | 'released' = 'reserved';
    const release = (): void => {
      if (state === 'reserved') unused();
      state = 'released';
      releasePermit();
    };
    return {
      run: (call) => {
        state = 'running';
        return run(call).finally(release);
      },
      isReleased: () => state === 'released',
      release,
    };
  } catch (error) {
    releasePermit();
    throw error;
  }
}

/** Starts a program for each call. */
export class OneShotPool implements ProgramPool {
  readonly #start: () => Program;
  readonly #limit: LimitFunction;
  readonly #running = new Set<Program>();

  constructor(sandbox: Sandbox, options: Omit<LaunchOptions, 'channel'>, processes: number) {
    this.#start = () => new Program(sandbox, { ...options, channel: 'stdio' });
    this.#limit = pLimit(processes);
  }

  reserve(signal: AbortSignal): Promise<Reservation> {
    const run = (call: Call): Promise<Finish> => {
      const program = this.#start();
      this.#running.add(program);
      return callOnce(program, call).finally(() => this.#running.delete(program));
    };
    return reserve(this.#limit, signal, () => ({ run, unused: () => undefined }));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running].map((program) => program.stop()));
  }
}

export interface HostOptions extends Omit<LaunchOptions, 'channel' | 'command'> {
  readonly load: LoadMessage['load'];
  readonly processes: number;
  /** Number of calls after which a process is replaced. */
  readonly calls: number;
  /** Receives output that belongs to no call. */
  readonly say: (text: string) => void;
}

interface Host {
  readonly program: Program;
  /** Whether it must stop clients before it exits. */
  readonly drains: boolean;
  calls: number;
  idle?: NodeJS.Timeout;
}

/** Timeout for loading a class, in ms. */
const loadMs = 120_000;

/** Time after which an idle process is ended, in ms. */
const idleMs = 60_000;

/** A pool of processes that have loaded a plugin's class. Each serves one call at a time. */
export class HostPool implements ProgramPool {
  readonly #sandbox: Sandbox;
  readonly #options: HostOptions;
  readonly #limit: LimitFunction;
  readonly #idle: Host[] = [];
  readonly #hosts = new Set<Host>();
  readonly #retiring = new Set<Promise<void>>();

  constructor(sandbox: Sandbox, options: HostOptions) {
    this.#sandbox = sandbox;
    this.#options = options;
    this.#limit = pLimit(options.processes);
  }

  /**
   * Starts the first process.
   * @returns the names of the class's methods.
   * @throws Error if it does not load.
   */
  async load(): Promise<readonly string[]> {
    const { host, methods } = await this.#start();
    this.#keep(host);
    return methods;
  }

  reserve(signal: AbortSignal): Promise<Reservation> {
    return reserve(this.#limit, signal, async () => {
      const host = this.#takeIdle() ?? (await this.#start()).host;
      return { run: (call) => this.#run(host, call), unused: () => this.#keep(host) };
    });
  }

  async close(): Promise<void> {
    for (const host of this.#hosts) this.#retire(host);
    await Promise.all(this.#retiring);
  }

  async #run(host: Host, call: Call): Promise<Finish> {
    const finish = await callAgain(host.program, call);
    host.calls += 1;
    const { calls, memoryBytes } = this.#options;
    const isSpent = call.stop.aborted || host.calls >= calls || host.program.memoryBytes() > memoryBytes / 2;
    if (finish.end !== undefined) return finish;
    if (isSpent) this.#retire(host);
    else this.#keep(host);
    return finish;
  }

  #keep(host: Host): void {
    if (!this.#hosts.has(host)) return;
    this.#idle.push(host);
    host.idle = setTimeout(() => this.#retire(host), idleMs).unref();
  }

  #takeIdle(): Host | undefined {
    const host = this.#idle.pop();
    clearTimeout(host?.idle);
    return host;
  }

  #remove(host: Host): void {
    clearTimeout(host.idle);
    this.#hosts.delete(host);
    if (this.#idle.includes(host)) this.#idle.splice(this.#idle.indexOf(host), 1);
  }

  #retire(host: Host): void {
    this.#remove(host);
    const end = this.#end(host).finally(() => this.#retiring.delete(end));
    this.#retiring.add(end);
  }

  /** Stops its clients first, if it has any. */
  async #end({ program, drains }: Host): Promise<void> {
    if (drains && program.send({ drain: true })) {
      program.listen({ ...silent, said: this.#options.say });
      // It exits in time, unless it hangs.
      await Promise.race([program.ended, pause(stopMs + 1_000, undefined, { ref: false })]);
    }
    await program.stop();
  }

  async #start(): Promise<{ readonly host: Host; readonly methods: readonly string[] }> {
    const { plugin, load, memoryBytes, cwd, environment } = this.#options;
    const heap = Math.max(16, Math.floor(memoryBytes / 1024 / 1024));
    const command = [process.execPath, `--max-old-space-size=${heap}`, '--import', loader, hostMain];
    const program = new Program(this.#sandbox, {
      plugin,
      command,
      cwd,
      environment,
      memoryBytes,
      channel: 'own',
    });
    try {
      const { methods, drains } = await loadClassIn(program, load);
      const host: Host = { program, drains, calls: 0 };
      this.#hosts.add(host);
      void program.ended.then(() => this.#remove(host));
      return { host, methods };
    } catch (error) {
      await program.stop();
      throw error;
    }
  }
}

const loader = fileURLToPath(new URL('./typescript-loader.mjs', import.meta.url));
const [hostMain = ''] = ['./host.js', './host.ts']
  .map((name) => fileURLToPath(new URL(name, import.meta.url)))
  .filter((path) => existsSync(path));

const loadAnswerSchema = z.union([
  z.object({ methods: z.array(z.string()), drains: z.boolean() }),
  z.object({ failed: z.string() }),
]);

const ignore = (): void => undefined;
const noLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };

async function loadClassIn(
  program: Program,
  load: LoadMessage['load'],
): Promise<{ readonly methods: readonly string[]; readonly drains: boolean }> {
  const stop = AbortSignal.timeout(loadMs);
  const call = { message: { load }, allowed: [], services: {}, log: noLog, stop };
  const { text, end, lastWords } = await callAgain(program, call);
  if (stop.aborted) throw new Error(`it did not load within ${loadMs / 1000} s`);
  if (end !== undefined)
    throw new Error([`its process ${end.words}`, lastWords].filter(Boolean).join('; its last output: '));
  const { success, data } = loadAnswerSchema.safeParse(parseObject(text));
  if (!success) throw new Error('its process printed an invalid answer');
  if ('failed' in data) throw new Error(data.failed);
  return data;
}
