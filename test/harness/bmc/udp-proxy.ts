import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** Payload types of RMCP+ packets: the first message of a session, and of a login. */
const openSession = 0x10;

/** Stands before a management controller. */
export interface UdpProxy {
  readonly port: number;
  /** Answers come so much later from now on, in ms. */
  delay(ms: number): void;
  /** Sessions that were begun, each of which is a login; repetitions of a request count once. */
  logins(): number;
  close(): void;
}

export async function startUdpProxy(target: number): Promise<UdpProxy> {
  const front = createSocket('udp4');
  const behind = new Map<number, Socket>();
  const opened = new Set<string>();
  let delayMs = 0;
  front.on('message', (message, { port, address }) => {
    // The tag of the request and the number that the client chose for its session.
    if (message[4] === 6 && message[5] === openSession)
      opened.add(`${port} ${message.subarray(20, 24).toString('hex')}`);
    let socket = behind.get(port);
    if (socket === undefined) {
      socket = createSocket('udp4');
      socket.on('message', (answer) => {
        setTimeout(() => front.send(answer, port, address, () => undefined), delayMs);
      });
      behind.set(port, socket);
    }
    socket.send(message, target, '127.0.0.1');
  });
  front.bind(0, '127.0.0.1');
  await once(front, 'listening');
  return {
    port: front.address().port,
    delay: (ms) => {
      delayMs = ms;
    },
    logins: () => opened.size,
    close: () => {
      front.close();
      for (const socket of behind.values()) socket.close();
    },
  };
}
