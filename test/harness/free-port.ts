import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Where the system takes no ports from for connections: one that is free now is not somebody's own end of a
 * connection a moment later.
 */
const first = 10_000;
const last = 32_000;

/**
 * A TCP port of loopback that nobody has, for a program that cannot choose one itself. Fits 16 bits with
 * sign, in which Temporal keeps some.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, last);
    const server = createServer();
    const listening = once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    const isFree = await listening;
    if (!isFree) continue;
    const closed = once(server, 'close');
    server.close();
    await closed;
    return port;
  }
}

/** The same for UDP. */
export async function freeUdpPort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, last);
    const socket = createSocket('udp4');
    const listening = once(socket, 'listening').then(
      () => true,
      () => false,
    );
    socket.bind(port, '127.0.0.1');
    const isFree = await listening;
    const closed = once(socket, 'close');
    socket.close();
    await closed;
    if (isFree) return port;
  }
}

/** So many different ones. */
export async function freePorts(
  count: number,
  find: () => Promise<number> = freePort,
): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await find());
  return [...ports];
}
