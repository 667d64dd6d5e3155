import { randomBytes } from 'node:crypto';
import type { ClientChannel } from 'ssh2';
import type { Connection } from './connection.js';
import { Excerpt } from './excerpt.js';
import { type Frame, readFrames } from './frames.js';
import {
  firstProgramText,
  programText,
  programTextBeforeInput,
  remoteCommand,
  type ProgramText,
} from './remote-command.js';

export interface RemoteProgram extends Omit<ProgramText, 'nonce'> {
  /** Follows the program on its standard input. */
  readonly input?: Uint8Array | string;
  readonly sudo?: boolean | undefined;
}

/** A shell on the node that reads program after program. */
export interface ShellSession extends RemoteSession {
  /** Sends shell text. */
  readonly send: (text: string) => void;
}

export interface RemoteSession {
  readonly frames: AsyncGenerator<Frame, void, undefined>;
  /** What came on stderr, for messages: the login shell's noise, sudo's refusal. */
  readonly complaints: Excerpt;
  /**
   * The exit code, once the channel is closed; undefined if the server reported none, which says nothing
   * about the program.
   */
  readonly exit: Promise<number | undefined>;
  readonly close: () => void;
}

/**
 * A node that says nothing for so long is taken for unreachable: the remote programs speak at least every 5
 * s.
 */
const silenceMs = 30_000;

/** Sends a program to the node and reads the frames that it prints. */
export async function startProgram(connection: Connection, what: RemoteProgram): Promise<RemoteSession> {
  const { input, sudo, ...program } = what;
  const nonce = randomBytes(16).toString('hex');
  const isAlone = input === undefined;
  const channel = await connection.exec(
    remoteCommand(connection.target, { sudo, input: isAlone ? 'program' : 'programAndInput' }),
  );
  if (isAlone) channel.write(programText({ ...program, nonce }));
  else {
    channel.write(programTextBeforeInput({ ...program, nonce }));
    channel.write(input);
  }
  channel.end();
  return sessionOf(connection, channel, nonce);
}

/** Starts a shell that reads programs, and sends it the first. */
export async function startShell(
  connection: Connection,
  { sudo, ...program }: Omit<RemoteProgram, 'input'>,
): Promise<ShellSession> {
  const nonce = randomBytes(16).toString('hex');
  const channel = await connection.execWithSpare(
    remoteCommand(connection.target, { sudo, input: 'programs' }),
  );
  channel.write(firstProgramText({ ...program, nonce }));
  return {
    ...sessionOf(connection, channel, nonce),
    send: (text) => {
      channel.write(text);
    },
  };
}

function sessionOf(connection: Connection, channel: ClientChannel, nonce: string): RemoteSession {
  const complaints = new Excerpt();
  const exit = exitOf(channel);
  channel.stderr.on('data', (chunk: Buffer) => complaints.add(chunk));
  channel.on('error', () => {
    /* A broken channel shows as a missing end frame. */
  });
  const stop = new AbortController();
  const frames = readFrames(chunksOf(channel, connection, stop.signal), nonce);
  const close = () => {
    stop.abort();
    discard(channel);
    // A reader that waits between two frames holds back what is still underway, and with it the end. The
    // stream forgets that reader in the next tick.
    void frames.return(undefined).finally(() => setImmediate(() => channel.resume()));
  };
  return { frames, complaints, exit, close };
}

/** Resolves when the channel is closed. */
export function exitOf(channel: ClientChannel): Promise<number | undefined> {
  return new Promise((resolve) => {
    channel.once('close', (code: unknown) => resolve(typeof code === 'number' ? code : undefined));
  });
}

/**
 * Closes a channel early. What is still underway is thrown away, else the channel would never report its end.
 * OpenSSH answers only when the command has ended, so callers must not wait for it.
 */
export function discard(channel: ClientChannel): void {
  channel.resume();
  channel.stderr.resume();
  channel.close();
}

async function* chunksOf(
  channel: ClientChannel,
  connection: Connection,
  stop: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  // An iterator that ended early would leave its listener behind, and the channel would wait for a reader for
  // ever.
  const chunks = channel.iterator({ destroyOnReturn: false });
  let wake = () => {
    /* No caller waits yet. */
  };
  const stopped = () => wake();
  stop.addEventListener('abort', stopped, { once: true });
  try {
    while (!stop.aborted) {
      let timer: NodeJS.Timeout | undefined;
      // A new promise for each pass: one that outlived them would keep every chunk it was raced
      // against.
      const enough = new Promise<undefined>((resolve) => {
        wake = () => resolve(undefined);
        timer = setTimeout(wake, silenceMs);
      });
      const next = await Promise.race([chunks.next(), enough]).finally(() => clearTimeout(timer));
      if (next === undefined && !stop.aborted) connection.destroy();
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    stop.removeEventListener('abort', stopped);
    // Not waited for: it settles only when the channel is closed.
    chunks.return?.().catch(() => undefined);
  }
}
