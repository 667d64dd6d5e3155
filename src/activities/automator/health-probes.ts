import { request, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { ownHost } from '../../model/node/health.js';

/** Opens a connection from the node, by the way that SSH takes to it. */
export type Connect = (host: string, port: number) => Promise<Duplex>;

export async function openTcp(
  connect: Connect,
  { host, port }: { readonly host: string; readonly port: number },
  ipaddress: string,
): Promise<Found> {
  const stream = await connect(hostOf(host, ipaddress), port);
  stream.on('error', () => undefined).destroy();
  return { well: true };
}

/** Whose certificate it is does not matter: the question is whether the service answers. */
export async function askHttp(
  connect: Connect,
  { url }: { readonly url: string },
  ipaddress: string,
  signal: AbortSignal,
): Promise<Found> {
  const { protocol, hostname, port, pathname, search, host } = new URL(url);
  const isTls = protocol === 'https:';
  const stream = await connect(hostOf(hostname, ipaddress), port === '' ? (isTls ? 443 : 80) : Number(port));
  stream.on('error', () => undefined);
  const socket = isTls
    ? connectTls({
        socket: stream,
        rejectUnauthorized: false,
        ...(isName(hostname) ? { servername: hostname } : {}),
      })
    : stream;
  try {
    const asked = request({
      method: 'GET',
      path: `${pathname}${search}`,
      headers: {
        host: hostname === ownHost ? hostOf(host, ipaddress) : host,
        connection: 'close',
        'user-agent': 'heddle-check',
      },
      createConnection: () => socket,
      signal,
    });
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined).resume();
    const { statusCode = 0 } = answer;
    return statusCode >= 200 && statusCode <= 399
      ? { well: true }
      : { well: false, why: `HTTP status ${statusCode}` };
  } finally {
    socket.destroy();
    stream.destroy();
  }
}

function hostOf(host: string, ipaddress: string): string {
  const name = host.startsWith('[') ? host.slice(1, -1) : host;
  return name === ownHost ? ipaddress : name;
}

function isName(host: string): boolean {
  return host !== ownHost && /[a-z]/i.test(host) && !host.startsWith('[');
}

/** The result of one probe; no reason if the service is healthy. */
export type Found = { readonly well: true } | { readonly well: false; readonly why: string };
