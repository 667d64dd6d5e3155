import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import ssh2, { type Connection } from 'ssh2';
import { signalQuietly } from '../../config/process-table.js';
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

/** A TCP server that can cut its connections. */
export class TcpServer {
  readonly #net: NetServer;
  readonly #sockets = new Set<Socket>();

  private constructor(serve: (socket: Socket) => void) {
    this.#net = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      serve(socket);
    });
  }

  /** @throws the system's error when the address cannot be listened on. */
  static async listen(address: string, port: number, serve: (socket: Socket) => void): Promise<TcpServer> {
    const server = new TcpServer(serve);
    server.#net.listen(port, address);
    await once(server.#net, 'listening');
    return server;
  }

  get port(): number {
    return (this.#net.address() as AddressInfo).port;
  }

  close(): void {
    this.#net.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** The SSH server of one machine: sessions and forwarded connections, no agent. */
export class SshServer {
  readonly #children = new Set<ChildProcess>();
  #tcp!: TcpServer;
  /** True once any command was run: only then can there be processes to look for. */
  ranCommands = false;

  /** @throws the system's error when the address cannot be listened on. */
  static async listen(options: SshServerOptions): Promise<SshServer> {
    const server = new SshServer();
    const ssh = new ssh2.Server({ hostKeys: [options.hostKey], ident: 'Heddle_local' }, (client) => {
      server.#serve(client, options);
    });
    server.#tcp = await TcpServer.listen(options.address, options.port, (socket) => ssh.injectSocket(socket));
    return server;
  }

  get port(): number {
    return this.#tcp.port;
  }

  /** Cuts all connections and kills the process groups of their commands. */
  close(): void {
    this.#tcp.close();
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

/** Forwards both directions until either side closes. */
function join(one: Socket, other: Duplex): void {
  one.on('error', () => other.destroy());
  one.on('close', () => other.destroy());
  other.on('error', () => one.destroy());
  other.on('close', () => one.destroy());
  one.pipe(other).pipe(one);
}
