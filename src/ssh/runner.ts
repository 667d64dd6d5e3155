import type { Connection } from './connection.js';
import type { Frame } from './frames.js';
import { compact } from './remote-command.js';
import { runnerFunctions, runnerProgram } from './remote/run-script.js';
import { type ShellSession, startShell } from './session.js';

/**
 * A shell that stays on a node and runs scripts one after the other, without a channel, a login and a program
 * for each. What it runs continues when its connection is lost.
 */
export class Runner {
  readonly session: ShellSession;
  readonly #connection: Connection;
  readonly #sudo: boolean;
  #next: Promise<IteratorResult<Frame, void>> | undefined;
  #isOpen = true;
  /** Whether it waits for the connection's next script. */
  #isIdle = false;
  /** Whether the node has answered at all. */
  greeted = false;

  private constructor(connection: Connection, sudo: boolean, session: ShellSession) {
    this.#connection = connection;
    this.#sudo = sudo;
    this.session = session;
    void session.exit.then(() => {
      this.#isOpen = false;
      this.#unpark();
    });
  }

  /** The connection's idle runner, or a new one. @throws PluginError Retryable if the connection is lost. */
  static async take(connection: Connection, sudo: boolean): Promise<Runner> {
    const kept = idle.get(connection)?.get(sudo);
    if (kept !== undefined && kept.#isOpen) {
      kept.#unpark();
      return kept;
    }
    const session = await startShell(connection, {
      program: runnerProgram,
      variables: { functions: compact(runnerFunctions) },
      sudo,
    });
    return new Runner(connection, sudo, session);
  }

  /** Leaves this runner to the connection's next script. */
  keep(): void {
    const runners = idle.get(this.#connection) ?? new Map<boolean, Runner>();
    if (!this.#isOpen || runners.has(this.#sudo)) return this.close();
    runners.set(this.#sudo, this);
    idle.set(this.#connection, runners);
    this.#isIdle = true;
    this.#connection.park();
  }

  /** The next frame; undefined if there will be none, 'silence' if none came within `ms`. */
  async next(ms?: number): Promise<Frame | 'silence' | undefined> {
    if (this.#next === undefined) {
      this.#next = this.session.frames.next();
      // After a timeout no caller may wait for it.
      this.#next.catch(() => undefined);
    }
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<'silence'>((resolve) => {
      if (ms !== undefined) timer = setTimeout(() => resolve('silence'), ms);
    });
    const result = await Promise.race([this.#next, silence]).finally(() => clearTimeout(timer));
    if (result === 'silence') return result;
    this.#next = undefined;
    if (result.done === true) return undefined;
    this.greeted = true;
    return result.value;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.session.close();
  }

  #unpark(): void {
    if (!this.#isIdle) return;
    this.#isIdle = false;
    idle.get(this.#connection)?.delete(this.#sudo);
    this.#connection.unpark();
  }
}

/** One for the login and one for root. */
const idle = new WeakMap<Connection, Map<boolean, Runner>>();
