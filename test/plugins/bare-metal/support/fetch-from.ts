import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** What a server of this host answers to a client with that address of it; the status if that is not 200. */
export function fetchFrom(localAddress: string, port: number, path: string, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    request({ host: '127.0.0.1', port, localAddress, path, method, agent: false }, (answer) => {
      text(answer).then(
        (read) => resolve(answer.statusCode === 200 ? read : String(answer.statusCode)),
        reject,
      );
    })
      .once('error', reject)
      .end(body);
  });
}
