import { connect } from 'node:net';
import type { StaticMachine } from './machines.js';

/** Longest wait for an SSH server to say its name, in ms. */
const patienceMs = 3_000;

/** Whether something says `SSH-` there. Whose machine it is shows at the login, under its host key. */
export function answersSsh({ address, port }: StaticMachine, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: patienceMs });
    const end = (answer: boolean): void => {
      signal.removeEventListener('abort', stop);
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const stop = (): void => end(false);
    const timer = setTimeout(stop, patienceMs);
    signal.addEventListener('abort', stop);
    let said = '';
    socket.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('latin1')).slice(0, 4_096);
      // A server may say other lines first.
      if (/^SSH-/m.test(said)) end(true);
    });
    for (const event of ['error', 'close', 'timeout'] as const) socket.on(event, stop);
  });
}
