import { fileURLToPath } from 'node:url';
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { stopMs } from '../clients.js';
import { ProgramFault } from '../errors.js';
import { converseAgain, type Call, type Finish } from './converse.js';
import { Semaphore } from './places.js';
import { Program, type LaunchOptions } from './program.js';
import type { LoadAnswer, LoadMessage } from './protocol.js';
import type { Reservation, Runner } from './runner.js';
import type { Workshop } from './workshop.js';

export interface HostOptions extends Omit<LaunchOptions, 'channel' | 'command'> {
  readonly load: LoadMessage['load'];
  readonly processes: number;
  /** Calls after which a process is replaced. */
  readonly calls: number;
  readonly say: (text: string) => void;
}

/** How long a class may take to load, in ms. */
const loadMs = 120_000;

/** How long a process stands ready without work, in ms. */
const idleMs = 60_000;

interface Host {
  readonly program: Program;
  /** Whether it has clients to stop before it ends. */
  drains: boolean;
  calls: number;
  idle?: NodeJS.Timeout;
}

/**
 * Processes that hold the class of one plugin. Each carries out one call at a time, so that none can harm
 * another.
 */
export class HostPool implements Runner {
  readonly #workshop: Workshop;
  readonly #options: HostOptions;
  readonly #places: Semaphore;
  readonly #idle: Host[] = [];
  readonly #all = new Set<Host>();
  readonly #retiring = new Set<Promise<unknown>>();
  readonly #reserved = new WeakMap<Reservation, Host>();

  constructor(workshop: Workshop, options: HostOptions) {
    this.#workshop = workshop;
    this.#options = options;
    this.#places = new Semaphore(options.processes);
  }

  /** The names of the methods that the class has. @throws Error when it does not load. */
  async load(): Promise<readonly string[]> {
    const { host, methods } = await this.#start();
    this.#standReady(host);
    return methods;
  }

  async reserve(signal: AbortSignal): Promise<Reservation> {
    const since = Date.now();
    const leave = await this.#places.take(signal);
    try {
      const host = this.#takeIdle() ?? (await this.#start()).host;
      let open = true;
      const reservation: Reservation = {
        waitedMs: Date.now() - since,
        spent: () => !open,
        release: () => {
          if (!open) return;
          open = false;
          // Given back unused: a call takes it out first.
          if (this.#reserved.delete(reservation)) this.#standReady(host);
          leave();
        },
      };
      this.#reserved.set(reservation, host);
      return reservation;
    } catch (error) {
      leave();
      throw error;
    }
  }

  async run(call: Call, reservation: Reservation): Promise<Finish> {
    const host = this.#reserved.get(reservation);
    if (host === undefined) throw new Error('the plugin host was given away twice');
    this.#reserved.delete(reservation);
    try {
      const finish = await converseAgain(host.program, call);
      host.calls += 1;
      if (finish.end === undefined) this.#release(host, call);
      return finish;
    } finally {
      reservation.release();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((host) => this.#retire(host)));
    await Promise.all(this.#retiring);
  }

  /** One that was told to stop, has served long, or has grown is replaced. */
  #release(host: Host, { stop }: Call): void {
    const { calls, memoryBytes } = this.#options;
    if (stop.aborted || host.calls >= calls || host.program.memoryBytes() > memoryBytes / 2)
      void this.#retire(host);
    else this.#standReady(host);
  }

  #standReady(host: Host): void {
    if (!this.#all.has(host)) return;
    this.#idle.push(host);
    host.program.letGo();
    host.idle = setTimeout(() => {
      this.#idle.splice(this.#idle.indexOf(host), 1);
      void this.#retire(host);
    }, idleMs).unref();
  }

  #takeIdle(): Host | undefined {
    const host = this.#idle.pop();
    if (host === undefined) return undefined;
    clearTimeout(host.idle);
    host.program.hold();
    return host;
  }

  async #retire(host: Host): Promise<void> {
    clearTimeout(host.idle);
    this.#all.delete(host);
    const end = endOf(host, this.#options.say);
    this.#retiring.add(end);
    await end.finally(() => this.#retiring.delete(end));
  }

  async #start(): Promise<{ readonly host: Host; readonly methods: readonly string[] }> {
    const { load, memoryBytes, cwd, environment } = this.#options;
    const command = [
      process.execPath,
      `--max-old-space-size=${Math.max(16, Math.floor(memoryBytes / 1024 / 1024))}`,
      '--import',
      loader,
      hostMain,
    ];
    const program = new Program(this.#workshop, { command, cwd, environment, memoryBytes, channel: 'own' });
    const host: Host = { program, drains: false, calls: 0 };
    this.#all.add(host);
    void program.ended.then(() => {
      clearTimeout(host.idle);
      this.#all.delete(host);
      if (this.#idle.includes(host)) this.#idle.splice(this.#idle.indexOf(host), 1);
    });
    const answer = await askToLoad(program, load);
    if ('loaded' in answer) {
      host.drains = answer.loaded.drains;
      return { host, methods: answer.loaded.methods };
    }
    await this.#retire(host);
    throw new ProgramFault(answer.failed);
  }
}

/** Lets it stop its clients first, where it has any. */
async function endOf({ program, drains }: Host, say: (text: string) => void): Promise<void> {
  if (drains && program.send({ drain: true })) {
    program.listen({ line: () => undefined, said: say });
    const waiting = new AbortController();
    // It looks at the time itself; this is for one that hangs.
    await Promise.race([program.ended, pause(stopMs + 1_000, undefined, { signal: waiting.signal })]);
    waiting.abort();
  }
  await program.stop();
}

function fileBeside(names: readonly string[]): string {
  const paths = names.map((name) => fileURLToPath(new URL(name, import.meta.url)));
  return paths.find((path) => existsSync(path)) ?? paths[0] ?? '';
}

const hostMain = fileBeside(['./host-main.js', './host-main.ts']);
const loader = fileBeside(['./register-loader.mjs']);

async function askToLoad(program: Program, load: LoadMessage['load']): Promise<LoadAnswer> {
  const said: string[] = [];
  const answered = new Promise<LoadAnswer>((resolve) => {
    program.listen({
      line: (text) => resolve(readLoadAnswer(text)),
      said: (text) => {
        if (said.length < 20) said.push(text);
      },
    });
  });
  program.send({ load });
  const waiting = new AbortController();
  const late = pause(loadMs, undefined, { signal: waiting.signal }).then(
    () => ({ failed: `it did not load within ${loadMs / 1000} s` }),
    () => ({ failed: '' }),
  );
  const ended = program.ended.then(({ words }) => ({
    failed: `its process ${words} while it loaded${said.length === 0 ? '' : `: ${said.join('\n').slice(0, 1_000)}`}`,
  }));
  const answer = await Promise.race([answered, ended, late]);
  waiting.abort();
  return answer;
}

function readLoadAnswer(text: string): LoadAnswer {
  try {
    const answer = JSON.parse(text) as Partial<Record<'loaded' | 'failed', unknown>>;
    const { loaded, failed } = answer;
    if (typeof loaded === 'object' && loaded !== null && 'methods' in loaded && Array.isArray(loaded.methods))
      return {
        loaded: { methods: loaded.methods.map(String), drains: Reflect.get(loaded, 'drains') === true },
      };
    if (typeof failed === 'string') return { failed };
  } catch {
    // Falls through: whatever it is, it is no answer.
  }
  return { failed: 'it answered with something else than expected' };
}
