import { once } from 'node:events';
import { lstat, mkdir } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Says that the server at the port is one of ours. */
const serverName = 'heddle-imaging';
const retryMs = 300;

interface GatewayPlace {
  readonly host: string;
  readonly port: number;
  /** The folder of sockets. */
  readonly folder: string;
}

/** The longest that requests of other loads are waited for, in ms. */
const graceMs = 10_000;

/** Where the loads of one port have their sockets: all of one user on this host, whichever worker started them. */
export async function socketFolder(port: number): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `heddle-imaging-${uid}-${port}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o022) !== 0)
    throw new Error(`${folder} is not a folder that only this user writes; remove it`);
  return folder;
}

export function socketOf(folder: string, mac: string): string {
  return join(folder, mac.replaceAll(':', '-'));
}

/**
 * Serves the port for all loads of this host: each request goes to the socket of the load whose machine it names.
 * Several loads share one port: one of them serves it, and when that one ends, another takes over.
 */
export class Gateway {
  readonly #place: GatewayPlace;
  #server: Server | undefined;
  #isClosed = false;

  constructor(place: GatewayPlace) {
    this.#place = place;
  }

  /**
   * Returns when the port is served, by this process or another load.
   * @throws Error if another program has the port.
   */
  async open(): Promise<void> {
    const { host, port } = this.#place;
    if (await this.#listen()) return;
    if (!(await isOurs(host, port))) {
      // The load that served it may have ended just now.
      await pause(retryMs);
      if (await this.#listen()) return;
      if (!(await isOurs(host, port))) throw new Error(`port ${port} of ${host} is used by another program`);
    }
    this.#replaceServer().catch(() => undefined);
  }

  /** Another load can take over at once; what is being sent is sent to its end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const server = this.#server;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    await Promise.race([closed, pause(graceMs, undefined, { ref: false })]);
    server.closeAllConnections();
  }

  async #replaceServer(): Promise<void> {
    do {
      await pause(retryMs, undefined, { ref: false });
      if (this.#isClosed) return;
    } while (!(await this.#listen()));
    if (this.#isClosed) await this.close();
  }

  /** False if the port is in use. */
  #listen(): Promise<boolean> {
    const { host, port, folder } = this.#place;
    return new Promise((resolve, reject) => {
      const server = createServer((incoming, outgoing) => pass(folder, incoming, outgoing));
      server.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') resolve(false);
        else reject(error);
      });
      server.listen({ host, port, exclusive: true }, () => {
        this.#server = server;
        resolve(true);
      });
    });
  }
}

async function isOurs(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ host, port, path: '/', timeout: 2_000 }, (answer) => {
      answer.resume();
      resolve(answer.headers.server === serverName);
    });
    asked.once('timeout', () => asked.destroy());
    asked.once('error', () => resolve(false));
    asked.end();
  });
}

function pass(folder: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.setHeader('server', serverName);
  const { url = '/', method = 'GET', headers } = incoming;
  const [, boot = '', written, rest = ''] =
    /^\/(boot\/)?([0-9a-f]{2}(?:(?::|%3a)[0-9a-f]{2}){5})(\/.*)?$/i.exec(url) ?? [];
  const refuse = (): void => {
    if (!outgoing.headersSent) outgoing.writeHead(404).end();
    else outgoing.destroy();
  };
  if (written === undefined) return refuse();
  const mac = written.toLowerCase().replaceAll('%3a', ':');
  const options = { socketPath: socketOf(folder, mac), path: `/${boot}${mac}${rest}`, method, headers };
  const onward = request(options, (answer) => {
    // A connection that is kept would keep the port from ending.
    outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, connection: 'close' });
    answer.pipe(outgoing);
    answer.once('error', refuse);
  });
  onward.once('error', refuse);
  outgoing.once('close', () => onward.destroy());
  incoming.pipe(onward);
}
