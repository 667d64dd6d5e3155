import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { connect, createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import ssh2, { type Connection } from 'ssh2';
import { signalQuietly } from '../processes.js';
import { authenticate, type Login } from './auth.js';
import type { Launcher } from './launch.js';
import { serveSession } from './session.js';

export interface SshServerOptions {
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  /** The host's private key in OpenSSH's form. */
  readonly hostKey: string;
  readonly login: Login;
  readonly launcher: Launcher;
}

/**
 * An SSH server of one machine. Sessions are served, and connections that the machine makes for whoever is
 * logged in; no agent.
 */
export class SshServer {
  readonly #net: NetServer;
  readonly #sockets = new Set<Socket>();
  readonly #children = new Set<ChildProcess>();
  /** True once any command was run: only then can there be processes to look for. */
  ranCommands = false;

  private constructor(options: SshServerOptions) {
    const server = new ssh2.Server({ hostKeys: [options.hostKey], ident: 'Heddle_local' }, (client) => {
      this.#serve(client, options);
    });
    this.#net = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      server.injectSocket(socket);
    });
  }

  /** @throws the system's error when the address cannot be listened on. */
  static async listen(options: SshServerOptions): Promise<SshServer> {
    const server = new SshServer(options);
    await listenOn(server.#net, options.address, options.port);
    return server;
  }

  get port(): number {
    return portOf(this.#net);
  }

  /**
   * Cuts all connections and kills the commands that were started through them, with their process groups.
   */
  close(): void {
    this.#net.close();
    for (const socket of this.#sockets) socket.destroy();
    for (const child of this.#children) {
      if (child.pid !== undefined) signalQuietly(-child.pid, 'SIGKILL');
    }
  }

  #serve(client: Connection, options: SshServerOptions): void {
    client.on('error', () => undefined);
    client.on('authentication', (context) => authenticate(context, options.login));
    client.on('session', (accept) => {
      serveSession(accept(), options.launcher, (child) => {
        this.ranCommands = true;
        this.#children.add(child);
        child.once('exit', () => this.#children.delete(child));
      });
    });
    client.on('tcpip', (accept, reject, { destIP, destPort }) => {
      const far = connect(destPort, destIP);
      far.once('error', reject);
      far.once('connect', () => {
        far.off('error', reject);
        join(far, accept());
      });
    });
  }
}

/** What one side says the other hears, until either is gone. */
function join(one: Socket, other: Duplex): void {
  one.on('error', () => other.destroy());
  one.on('close', () => other.destroy());
  other.on('error', () => one.destroy());
  other.on('close', () => one.destroy());
  one.pipe(other).pipe(one);
}

/** Takes connections and never says a word: a machine whose SSH server hangs. */
export class SilentServer {
  readonly #net: NetServer;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#net = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined).resume();
    });
  }

  static async listen(address: string, port: number): Promise<SilentServer> {
    const server = new SilentServer();
    await listenOn(server.#net, address, port);
    return server;
  }

  get port(): number {
    return portOf(this.#net);
  }

  close(): void {
    this.#net.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

function listenOn(server: NetServer, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function portOf(server: NetServer): number {
  return (server.address() as AddressInfo).port;
}
