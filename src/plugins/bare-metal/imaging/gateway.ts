import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { link, lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { hasErrorCode } from '../../../model/system-error.js';

/** Header that tells the server of a load the client's address; overwrites a header of the client. */
export const peerHeader = 'heddle-peer';

const retryMs = 300;
/** A random number that the server at the port must sign. */
const nonceBytes = 16;
const signatureHeader = 'heddle-signature';

interface GatewayPlace {
  readonly host: string;
  readonly port: number;
  /** The folder of sockets. */
  readonly folder: string;
}

/** Longest wait for requests of other loads, in ms. */
const graceMs = 10_000;

/**
 * The folder of the loads' sockets for a port: shared by all loads of one user on this host, whichever worker
 * started them.
 */
export async function socketFolder(port: number): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `heddle-imaging-${uid}-${port}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o022) !== 0)
    throw new Error(`${folder} must be a folder that only this user can write; remove it`);
  return folder;
}

export function socketOf(folder: string, mac: string): string {
  return join(folder, mac.replaceAll(':', '-'));
}

/**
 * Serves the port for all loads of this host: each request is forwarded to the socket of the machine's load.
 * One of the loads serves the port, and when it ends, another takes over.
 */
export class Gateway {
  readonly #place: GatewayPlace;
  #server: Server | undefined;
  #isClosed = false;

  constructor(place: GatewayPlace) {
    this.#place = place;
  }

  /**
   * Returns when the port is served by this process or by another load.
   * @throws Error if another program uses the port.
   */
  async open(): Promise<void> {
    const { host, port } = this.#place;
    if (await this.#listen()) return;
    if (!(await isOurs(this.#place))) {
      // The load that served it may have just ended.
      await pause(retryMs);
      if (await this.#listen()) return;
      if (!(await isOurs(this.#place))) throw new Error(`port ${port} of ${host} is used by another program`);
    }
    this.#replaceServer().catch(() => undefined);
  }

  /** Another load can take over immediately; transfers in progress are completed. */
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
      const server = createServer((incoming, outgoing) => {
        answer(folder, incoming, outgoing).catch(() => outgoing.destroy());
      });
      server.once('error', (error) => {
        if (hasErrorCode(error, 'EADDRINUSE')) resolve(false);
        else reject(error);
      });
      server.listen({ host, port, exclusive: true }, () => {
        this.#server = server;
        resolve(true);
      });
    });
  }
}

/**
 * Whether the server at the port forwards requests to the sockets in our folder. Only processes of this user
 * can sign with its key; any program could report the same name.
 */
async function isOurs({ host, port, folder }: GatewayPlace): Promise<boolean> {
  const nonce = randomBytes(nonceBytes).toString('hex');
  const expected = await sign(folder, nonce);
  return new Promise((resolve) => {
    const asked = request({ host, port, path: `/sign/${nonce}`, timeout: 2_000 }, (reply) => {
      const signature = Buffer.from(String(reply.headers[signatureHeader] ?? ''));
      reply.resume();
      resolve(signature.length === expected.length && timingSafeEqual(signature, Buffer.from(expected)));
    });
    asked.once('timeout', () => asked.destroy());
    asked.once('error', () => resolve(false));
    asked.end();
  });
}

async function sign(folder: string, nonce: string): Promise<string> {
  return createHmac('sha256', await keyOf(folder))
    .update(nonce)
    .digest('hex');
}

/** The key of the folder, which the first load creates. */
async function keyOf(folder: string): Promise<Buffer> {
  const file = join(folder, 'key');
  const known = await readFile(file).catch(() => undefined);
  if (known !== undefined) return known;
  const draft = join(folder, `key-${randomBytes(8).toString('hex')}`);
  await writeFile(draft, randomBytes(32), { mode: 0o600 });
  try {
    // Created atomically, and never replaces the key of another load.
    await link(draft, file);
  } catch (error) {
    if (!hasErrorCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(draft);
  }
  return readFile(file);
}

async function answer(folder: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const nonce = /^\/sign\/([0-9a-f]{32})$/.exec(incoming.url ?? '')?.[1];
  if (nonce === undefined) return pass(folder, incoming, outgoing);
  outgoing.writeHead(204, { [signatureHeader]: await sign(folder, nonce), connection: 'close' }).end();
}

function pass(folder: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { url = '/', method = 'GET' } = incoming;
  const headers = { ...incoming.headers, [peerHeader]: incoming.socket.remoteAddress ?? '' };
  const [, boot = '', written, rest = ''] =
    /^\/(boot\/)?([0-9a-f]{2}(?:(?::|%3a)[0-9a-f]{2}){5})(\/.*)?$/i.exec(url) ?? [];
  const refuse = (): void => {
    if (!outgoing.headersSent) outgoing.writeHead(404).end();
    else outgoing.destroy();
  };
  if (written === undefined) return refuse();
  const mac = written.toLowerCase().replaceAll('%3a', ':');
  const options = { socketPath: socketOf(folder, mac), path: `/${boot}${mac}${rest}`, method, headers };
  const onward = request(options, (reply) => {
    // A persistent connection would keep the port open.
    outgoing.writeHead(reply.statusCode ?? 502, { ...reply.headers, connection: 'close' });
    reply.pipe(outgoing);
    reply.once('error', refuse);
  });
  onward.once('error', refuse);
  outgoing.once('close', () => onward.destroy());
  incoming.pipe(onward);
}
