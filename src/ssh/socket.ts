import { Socket } from 'node:net';

type Written = (error?: Error | null) => void;

/** Connects to a server; failures are events of the socket. */
export function openSocket(host: string, port: number): Socket {
  const socket = new CorkedSocket();
  // 2 ms a command instead of 44 ms.
  socket.setNoDelay(true);
  return socket.connect({ host, port });
}

/** Sends together what is written together: ssh2 writes each message in three parts. */
class CorkedSocket extends Socket {
  override write(chunk: Uint8Array | string, written?: Written): boolean;
  override write(chunk: Uint8Array | string, encoding?: BufferEncoding, written?: Written): boolean;
  override write(...message: unknown[]): boolean {
    if (this.writableCorked === 0) {
      this.cork();
      process.nextTick(() => this.uncork());
    }
    return super.write(...(message as Parameters<Socket['write']>));
  }
}
