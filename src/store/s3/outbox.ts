import { randomUUID } from 'node:crypto';
import { renameSync, type Stats } from 'node:fs';
import { readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { appendLimited, isAbsent } from '../append-limited.js';
import { cutNotice } from '../folder.js';
import { currentPath } from '../store.js';

/**
 * A piece of a log, whole lines written by one process. While it grows, its file ends with `.open`; afterwards
 * it never changes, so that sending it twice is harmless.
 */
export interface Piece {
  /** Of the log: `<clusterUid>/<day>/<nodeId>/<file>.log`. */
  readonly path: string;
  readonly writer: string;
  /** `<writer>-<n>`; those of one writer sort in the order of writing. */
  readonly id: string;
  readonly file: string;
  readonly size: number;
  readonly changedAt: number;
  readonly open: boolean;
}

export interface OutboxOptions {
  readonly folder: string;
  /** Largest part of a log from one process, in bytes. */
  readonly logLimit: number;
}

/** A piece is closed at this size, in bytes. */
const pieceBytes = 1024 * 1024;
/** A piece that no process has written to for so long, in ms, has lost its process: pieces live shorter. */
export const abandonedMs = 60_000;
/** Logs whose sizes are known at a time. */
const rememberedLogs = 10_000;
const openSuffix = '.open';

/** The pieces of logs that this machine has not sent yet. Several processes may share its folder. */
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
    // The next limit is below zero: only the first cut is noted.
    if (cut === 'full') own.closedBytes = Infinity;
    if (cut === 'full' || piece.bytes >= pieceBytes) this.#close(path);
    return cut;
  }

  /** Closes the piece of a log that is open here. One of the day before is closed by its age. */
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

  /** Every piece in the folder, of other processes too, in the order of writing. */
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
    // Folders that are not empty stay.
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
    // The log that was written last is the last one to be forgotten.
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

/** What this process has written to a log. */
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
