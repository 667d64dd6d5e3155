import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A request that is not carried out; the message goes back as plain text. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Guard {
  /** host:port, as the address has it. */
  readonly authority: string;
  readonly token: string;
}

/**
 * Lets a request in that comes from our own page, or from whoever was given its address. Gives the path after
 * the token. The token stands in the path, not in a cookie: a browser sends cookies to every port of this
 * machine.
 * @throws Refused
 */
export function admit(request: IncomingMessage, { authority, token }: Guard): string {
  // A page elsewhere may point a name of its own at this machine: then it is its own name that the browser
  // sends.
  if (request.headers.host !== authority)
    throw new Refused(403, `This page is at http://${authority} alone.`);
  const { origin } = request.headers;
  const changes = request.method !== 'GET';
  if ((changes || origin !== undefined) && origin !== `http://${authority}`)
    throw new Refused(403, 'Another page may not use this one.');
  const [, given = '', ...rest] = new URL(request.url ?? '/', 'http://page.invalid').pathname.split('/');
  if (!isSame(given, token))
    throw new Refused(
      401,
      'The address is not complete. heddle dev prints it when it starts, and makes a new one each time.',
    );
  return `/${rest.join('/')}`;
}

/**
 * The values of a form that was sent.
 * @throws Refused
 */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Refused(415, 'A form is expected.');
  const chunks: Buffer[] = [];
  let size = 0;
  // Kept open when the rest is not read, or the reply could not be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyLimit) throw new Refused(413, `The form is larger than ${bodyLimit} bytes.`);
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}

const bodyLimit = 512 * 1024;

/** Compared as digests, so that the time taken tells nothing of the token. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
