import { randomUUID } from 'node:crypto';
import { renameSync, type Stats } from 'node:fs';
import { readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { appendLimited, isAbsent } from '../append-limited.js';
import { cutNotice } from '../folder.js';
import { currentPath } from '../store.js';

/**
 * A piece of a log: whole lines written by one process. While it grows, its file name ends with
 * `.open`. Afterwards it never changes, so that sending it twice is harmless.
 */
export interface Piece {
  /** Path of the log: `<clusterUid>/<day>/<nodeId>/<file>.log`. */
  readonly path: string;
  readonly writer: string;
  /** `<writer>-<n>`; IDs of one writer sort in the order of writing. */
  readonly id: string;
  readonly file: string;
  readonly size: number;
  readonly changedAt: number;
  readonly open: boolean;
}

export interface OutboxOptions {
  readonly folder: string;
  /** Maximum size of the part of a log from one process, in bytes. */
  readonly logLimit: number;
}

/** A piece is closed at this size, in bytes. */
const pieceBytes = 1024 * 1024;
/** Time without writes after which a piece is abandoned, in ms; living processes close pieces earlier. */
export const abandonedMs = 60_000;
/** Maximum number of logs whose sizes are remembered. */
const rememberedLogs = 10_000;
const openSuffix = '.open';

/** The pieces of logs that this machine has not sent yet. Several processes may share the folder. */
export class Outbox {
  readonly writer = randomUUID().slice(0, 8);
  readonly #folder: string;
  readonly #logLimit: number;
  readonly #logs = new Map<string, OwnLog>();
  #next = 1;

  constructor({ folder, logLimit }: OutboxOptions) {
    this.#folder = folder;
    this.#logLimit = logLimit;
  }

  /** @throws Error of the file system, such as a full disk. */
  append(log: string, chunk: Uint8Array): 'full' | undefined {
    const path = currentPath(log);
    const own = this.#ownLog(path);
    const limit = this.#logLimit - own.closedBytes;
    if (limit < 0) return 'full';
    const piece = (own.piece ??= this.#begin(path));
    const notice = cutNotice(this.#logLimit);
    const cut = appendLimited({ file: piece.file, chunk, limit, notice });
    piece.bytes += chunk.length;
    // Makes the next limit negative, so that only the first cut adds a notice.
    if (cut === 'full') own.closedBytes = Infinity;
    if (cut === 'full' || piece.bytes >= pieceBytes) this.#close(path);
    return cut;
  }

  /** Closes the open piece of a log. A piece of the previous day is closed by its age. */
  close(log: string): void {
    this.#close(currentPath(log));
  }

  #close(path: string): void {
    const own = this.#logs.get(path);
    if (own?.piece === undefined) return;
    const { file, bytes } = own.piece;
    own.piece = undefined;
    own.closedBytes += bytes;
    closeFile(file);
  }

  closeOlderThan(ms: number): void {
    for (const [path, { piece }] of this.#logs)
      if (piece !== undefined && Date.now() - piece.beganAt >= ms) this.#close(path);
  }

  /** Every piece in the folder, including those of other processes, in the order of writing. */
  async pieces(prefix = ''): Promise<readonly Piece[]> {
    const entries = await readdir(join(this.#folder, prefix), { recursive: true, withFileTypes: true }).catch(
      () => [],
    );
    const files = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    const found = await Promise.all(files.map(async (file) => this.#pieceAt(file, await statOf(file))));
    return found.filter((piece) => piece !== undefined).toSorted((a, b) => (a.file < b.file ? -1 : 1));
  }

  /** Closes a piece whose process has ended. */
  async adopt(piece: Piece): Promise<void> {
    await rename(piece.file, piece.file.slice(0, -openSuffix.length)).catch(tolerateAbsence);
  }

  async remove({ file }: Piece): Promise<void> {
    await rm(file, { force: true });
    // Keeps folders that are not empty.
    for (let folder = dirname(file); folder !== this.#folder; folder = dirname(folder))
      if (
        !(await rmdir(folder).then(
          () => true,
          () => false,
        ))
      )
        return;
  }

  #ownLog(path: string): OwnLog {
    const own = this.#logs.get(path) ?? { closedBytes: 0, piece: undefined };
    // Moves the log to the end: the least recently written log is forgotten first.
    this.#logs.delete(path);
    this.#logs.set(path, own);
    const oldest = this.#logs.keys().next().value;
    if (this.#logs.size > rememberedLogs && oldest !== undefined) {
      this.#close(oldest);
      this.#logs.delete(oldest);
    }
    return own;
  }

  #begin(path: string): OwnPiece {
    const id = `${this.writer}-${String(this.#next).padStart(9, '0')}`;
    this.#next += 1;
    const file = join(this.#folder, ...path.split('/'), `${id}${openSuffix}`);
    return { file, bytes: 0, beganAt: Date.now() };
  }

  #pieceAt(file: string, found: Stats | undefined): Piece | undefined {
    const path = relative(this.#folder, file).replaceAll('\\', '/');
    const at = path.lastIndexOf('/');
    const name = path.slice(at + 1);
    const open = name.endsWith(openSuffix);
    const id = open ? name.slice(0, -openSuffix.length) : name;
    const writer = pieceId.exec(id)?.[1];
    if (found === undefined || writer === undefined) return undefined;
    return { path: path.slice(0, at), writer, id, file, size: found.size, changedAt: found.mtimeMs, open };
  }
}

/** `<writer>-<n>`. */
export const pieceId = /^([0-9a-f]{8})-\d{9}$/;

/** The part of a log that this process has written. */
interface OwnLog {
  closedBytes: number;
  piece: OwnPiece | undefined;
}

interface OwnPiece {
  readonly file: string;
  readonly beganAt: number;
  bytes: number;
}

function closeFile(file: string): void {
  try {
    renameSync(file, file.slice(0, -openSuffix.length));
  } catch (error) {
    tolerateAbsence(error);
  }
}

function statOf(file: string): Promise<Stats | undefined> {
  return stat(file).catch(() => undefined);
}

function tolerateAbsence(error: unknown): void {
  if (!isAbsent(error)) throw error;
}
