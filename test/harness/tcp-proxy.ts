import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** From now on nothing passes in either direction, and nobody is told: a half-open link. */
  blackhole(): void;
  /** Ends every connection with a reset. */
  reset(): void;
  /** New connections and old ones work again. */
  heal(): void;
  close(): Promise<void>;
}

/** Stands between a client and a server on loopback and breaks what passes. */
export async function startProxy(target: { readonly port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let passing = true;
  const server = createServer((inner) => {
    const outer = connect(target.port, '127.0.0.1');
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (chunk) => {
        if (passing) to.write(chunk);
      });
      from.on('end', () => {
        if (passing) to.end();
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        if (passing) to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    blackhole: () => {
      passing = false;
    },
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    heal: () => {
      passing = true;
      // What was cut off stays lost: its stream has a hole.
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
