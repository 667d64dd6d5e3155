import type { Client, ClientChannel, ExecOptions, PseudoTtyOptions } from 'ssh2';
import { connectionLost } from './failure.js';
import { formatHostKey } from './host-key.js';
import type { SshTarget } from './target.js';

/** OpenSSH allows 10 sessions a connection; two are left for others. */
const maxChannels = 8;

/** A logged-in connection to one node. At most eight commands run on it at once, others wait their turn. */
export class Connection {
  readonly target: SshTarget;
  /** The key the server showed, `<type> <base64>`. */
  readonly hostKey: string;
  /** Called each time the last command ended. */
  onIdle: (() => void) | undefined;
  readonly #client: Client;
  readonly #waiting: (() => void)[] = [];
  readonly #closed: Promise<void>;
  #busy = 0;
  #open = true;
  #cause: unknown;

  constructor(client: Client, target: SshTarget, presented: Buffer) {
    this.#client = client;
    this.target = target;
    this.hostKey = formatHostKey(presented) ?? '';
    // Without a listener an error of a connection nobody is waiting for would end the process.
    client.on('error', (error) => { this.#cause ??= error; });
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
    return this.#busy > 0;
  }

  /** Settles when the connection has ended, for whatever reason. */
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

  /** Starts the user's login shell. */
  shell(terminal: PseudoTtyOptions | false): Promise<ClientChannel> {
    return this.#channel((done) => this.#client.shell(terminal, done));
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

  async #channel(start: (done: (error: Error | undefined, channel: ClientChannel) => void) => void): Promise<ClientChannel> {
    while (this.#open && this.#busy >= maxChannels) await new Promise<void>((resolve) => { this.#waiting.push(resolve); });
    if (!this.#open) throw this.lost();
    this.#busy++;
    try {
      const channel = await new Promise<ClientChannel>((resolve, reject) => {
        start((error, opened) => (error === undefined ? resolve(opened) : reject(error)));
      });
      channel.once('close', () => this.#release());
      return channel;
    } catch (error) {
      this.#release();
      throw connectionLost(this.target, error);
    }
  }

  #release(): void {
    this.#busy--;
    this.#waiting.shift()?.();
    if (this.#busy === 0) this.onIdle?.();
  }
}
