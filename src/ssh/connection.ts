import type { Client, ClientChannel, ExecOptions, PseudoTtyOptions } from 'ssh2';
import { connectionLost, explainForward } from './failure.js';
import { formatHostKey } from './host-key.js';
import type { SshTarget } from './target.js';

/** OpenSSH allows 10 sessions a connection; two are left for others. */
const maxChannels = 8;

/** Longest wait for the server to open a channel: it may answer pings and do nothing else. */
const channelMs = 15_000;

/** A logged-in connection to one node. At most eight commands run on it at once, others wait their turn. */
export class Connection {
  readonly target: SshTarget;
  /** The key the server showed, `<type> <base64>`. */
  readonly hostKey: string;
  /** Called each time the last command ended. */
  onIdle: (() => void) | undefined;
  readonly #client: Client;
  readonly #channelMs: number;
  readonly #waiting: (() => void)[] = [];
  readonly #closed: Promise<void>;
  #busy = 0;
  #parked = 0;
  #spare = 0;
  #forwards = 0;
  #open = true;
  #cause: unknown;

  constructor(
    client: Client,
    target: SshTarget,
    presented: Buffer,
    limits: { readonly channelMs?: number } = {},
  ) {
    this.#client = client;
    this.#channelMs = limits.channelMs ?? channelMs;
    this.target = target;
    this.hostKey = formatHostKey(presented) ?? '';
    // Without a listener an error of an unused connection would end the process.
    client.on('error', (error) => {
      this.#cause ??= error;
    });
    this.#closed = new Promise((resolve) => {
      client.once('close', () => {
        this.#open = false;
        for (const wake of this.#waiting.splice(0)) wake();
        resolve();
      });
    });
  }

  get open(): boolean {
    return this.#open;
  }

  get busy(): boolean {
    return this.#busy > this.#parked || this.#forwards > 0;
  }

  /** One command waits for work: it does not keep the connection open. */
  park(): void {
    this.#parked++;
    for (const wake of this.#waiting.splice(0)) wake();
    if (!this.busy) this.onIdle?.();
  }

  /** A parked command works again, or has ended. */
  unpark(): void {
    this.#parked--;
  }

  /** Settles when the connection has ended. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /**
   * Starts a command. The caller reads stdout and stderr to their end.
   * @throws PluginError Retryable when the connection is gone or the server grants no channel.
   */
  exec(command: string, options: ExecOptions = {}): Promise<ClientChannel> {
    return this.#channel((done) => this.#client.exec(command, options, done));
  }

  /**
   * Starts a command that may need a second one beside it: as long as it works, a channel is kept free for
   * that.
   */
  execWithSpare(command: string): Promise<ClientChannel> {
    return this.#channel((done) => this.#client.exec(command, done), 1);
  }

  /** Starts the user's login shell. */
  shell(terminal: PseudoTtyOptions | false): Promise<ClientChannel> {
    return this.#channel((done) => this.#client.shell(terminal, done));
  }

  /**
   * A stream to another host, which the server connects to. No command waits for it: OpenSSH counts only
   * sessions.
   * @throws PluginError Invalid when the server forwards nothing, Retryable when it did not get there.
   */
  async forward(host: string, port: number): Promise<ClientChannel> {
    if (!this.#open) throw this.lost();
    this.#forwards++;
    const released = () => {
      this.#forwards--;
      if (!this.busy) this.onIdle?.();
    };
    try {
      const channel = await this.#within((done) => this.#client.forwardOut('127.0.0.1', 0, host, port, done));
      channel.once('close', released);
      return channel;
    } catch (error) {
      released();
      throw explainForward(this.target, `${host}:${port}`, error);
    }
  }

  /** The error to throw when this connection turned out to be dead. */
  lost(): Error {
    return connectionLost(this.target, this.#cause);
  }

  close(): void {
    this.#client.end();
  }

  /** For a link that does not answer: no farewell, which would wait in vain. */
  destroy(): void {
    this.#client.destroy();
  }

  async #channel(
    start: (done: (error: Error | undefined, channel: ClientChannel) => void) => void,
    spare = 0,
  ): Promise<ClientChannel> {
    while (this.#open && this.#busy + (spare === 0 ? 0 : this.#spare - this.#parked + spare) >= maxChannels)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    if (!this.#open) throw this.lost();
    this.#busy++;
    this.#spare += spare;
    try {
      const channel = await this.#within(start);
      channel.once('close', () => this.#release(spare));
      return channel;
    } catch (error) {
      this.#release(spare);
      throw connectionLost(this.target, error);
    }
  }

  #release(spare: number): void {
    this.#busy--;
    this.#spare -= spare;
    for (const wake of this.#waiting.splice(0)) wake();
    if (!this.busy) this.onIdle?.();
  }

  async #within(
    start: (done: (error: Error | undefined, channel: ClientChannel) => void) => void,
  ): Promise<ClientChannel> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<ClientChannel>((resolve, reject) => {
        timer = setTimeout(() => {
          this.destroy();
          reject(new Error(`no channel was opened within ${this.#channelMs / 1000} s`));
        }, this.#channelMs);
        start((error, opened) => (error === undefined ? resolve(opened) : reject(error)));
      });
    } finally {
      clearTimeout(timer);
    }
  }
}
