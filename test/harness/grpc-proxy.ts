import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** An answer of the server, before the client sees it. */
export interface GrpcAnswer {
  /** Such as `PollWorkflowTaskQueue`. */
  readonly method: string;
  /** The message as protobuf; empty for a failure. */
  readonly message: Uint8Array;
}

/** What becomes of an answer: it passes, or the client gets this message or this gRPC status instead. */
export type GrpcFate =
  | 'pass'
  | { readonly message: Uint8Array }
  | { readonly status: number; readonly text: string };

export interface GrpcProxy {
  /** As a Temporal client takes it. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Stands between a worker and the Temporal server and decides about each answer, when it pleases: a delayed
 * promise is a delayed answer. Calls are unary, as those of Temporal are.
 */
export async function startGrpcProxy(
  target: string,
  decide: (answer: GrpcAnswer) => Promise<GrpcFate> | GrpcFate,
): Promise<GrpcProxy> {
  const upstreams = new Set<ClientHttp2Session>();
  let newest: ClientHttp2Session | undefined;
  // The server retires a connection after some minutes: calls under way end on it, and new ones need another.
  const upstream = (): ClientHttp2Session => {
    if (newest !== undefined) return newest;
    const opened = connect(`http://${target}`);
    const retire = (): void => {
      if (newest === opened) newest = undefined;
    };
    upstreams.add(opened);
    opened.on('error', retire);
    opened.on('goaway', retire);
    opened.on('close', () => {
      retire();
      upstreams.delete(opened);
    });
    newest = opened;
    return opened;
  };
  const server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (inner, headers) => {
    inner.on('error', () => undefined);
    const outer = upstream().request(headers);
    outer.on('error', () => inner.destroy());
    inner.on('close', () => outer.close(constants.NGHTTP2_CANCEL));
    inner.pipe(outer);
    const method = (headers[':path'] ?? '').split('/').at(-1) ?? '';
    void answerOf(outer)
      .then(async (answer) => {
        const fate = await decide({ method, message: messageOf(answer.body) });
        if (!inner.destroyed) reply(inner, answer, fate);
      })
      .catch(() => inner.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      for (const session of sessions) session.destroy();
      for (const opened of upstreams) opened.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly trailers: IncomingHttpHeaders;
}

function answerOf(outer: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    outer.on('response', (got) => {
      headers = got;
    });
    outer.on('trailers', (got) => {
      trailers = got;
    });
    outer.on('data', (chunk: Buffer) => chunks.push(chunk));
    outer.on('error', reject);
    // The trailers may come after the end of the body.
    outer.on('close', () => resolve({ headers, body: Buffer.concat(chunks), trailers }));
  });
}

const frameHead = 5;

/** The server compresses its answer if the request was compressed. */
function messageOf(body: Buffer): Uint8Array {
  return body[0] === 1 ? gunzipSync(body.subarray(frameHead)) : body.subarray(frameHead);
}

function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(frameHead);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function reply(inner: ServerHttp2Stream, { headers, body, trailers }: Answer, fate: GrpcFate): void {
  const passes = fate === 'pass';
  const end = passes
    ? trailers
    : 'status' in fate
      ? { 'grpc-status': String(fate.status), 'grpc-message': fate.text }
      : { 'grpc-status': '0' };
  const bytes = passes ? body : 'status' in fate ? Buffer.alloc(0) : framed(fate.message);
  const isTrailersOnly = passes && headers['grpc-status'] !== undefined;
  if (isTrailersOnly) {
    inner.respond(headers, { endStream: true });
    return;
  }
  inner.respond({ ':status': 200, ...headers }, { waitForTrailers: true });
  inner.on('wantTrailers', () => {
    inner.sendTrailers(end);
  });
  inner.end(bytes);
}
