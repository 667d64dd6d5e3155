import { closeSync, linkSync, mkdirSync, openSync, symlinkSync, writeSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Parser, type ReadEntry } from 'tar';
import { ArchiveError, leadsOut } from './entry.js';

/** What was unpacked. */
export interface Unpacked {
  readonly files: number;
  readonly bytes: number;
  /** What was left out, and why. */
  readonly skipped: readonly string[];
}

/** Longest path that Linux has. */
const maxPath = 4_096;
const maxMetaEntrySize = 64 * 1024;

/** The parser would unpack these, and their authors decide on the size of the result. */
const compressions = [
  ['gzip', Buffer.from([0x1f, 0x8b])],
  ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
] as const;

/**
 * Unpacks a tar archive of any size that someone else wrote, part by part, into a new folder: nothing is
 * written outside of it or through a link. Owners and the bits for set-user-ID are dropped; links that leave
 * the folder, devices and the like are left out. The owner can always read and write what is unpacked.
 */
export class StreamUnpacker {
  readonly #folder: string;
  readonly #parser: Parser;
  readonly #made = new Set<string>();
  readonly #files = new Set<string>();
  /** Targets by path. */
  readonly #links = new Map<string, string>();
  /** Reasons by path. */
  readonly #skipped = new Map<string, string>();
  #begin = Buffer.alloc(0);
  #ended = false;
  #bytes = 0;
  #failure: unknown;

  /** The folder must not exist. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#parser = new Parser({
      strict: true,
      maxMetaEntrySize,
      onReadEntry: (entry) => this.#guard(() => this.#take(entry), entry),
    });
    this.#parser.on('ignoredEntry', (entry: ReadEntry) => this.#guard(() => this.#ignore(entry)));
    this.#parser.on('eof', () => (this.#ended = true));
    this.#parser.on('error', (cause: Error) => {
      this.#failure ??= new ArchiveError(`is not a valid tar archive: ${cause.message}`, { cause });
    });
  }

  get files(): number {
    return this.#files.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The first error, after which nothing more is written. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Never throws; see `failure`. */
  write(chunk: Buffer): void {
    this.#guard(() => {
      // Only padding follows the end.
      if (this.#failure !== undefined || this.#ended) return;
      this.#refuseCompressed(chunk);
      this.#parser.write(chunk);
    });
  }

  /** @throws ArchiveError for an archive that is cut off, or unsafe; errors of the file system. */
  end(): Unpacked {
    this.#guard(() => void this.#parser.end());
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#ended) throw new ArchiveError('is cut off');
    this.#makeFolder('.');
    // Last, so that no file is written through a link.
    for (const [path, target] of this.#links) {
      this.#makeFolder(posix.dirname(path));
      symlinkSync(target, join(this.#folder, path));
    }
    const skipped = [...this.#skipped].map(([path, why]) => `${quoted(path)} ${why}`);
    return { files: this.files, bytes: this.bytes, skipped };
  }

  #refuseCompressed(chunk: Buffer): void {
    if (this.#begin.length >= 4) return;
    this.#begin = Buffer.concat([this.#begin, chunk.subarray(0, 4 - this.#begin.length)]);
    for (const [name, mark] of compressions)
      if (this.#begin.subarray(0, mark.length).equals(mark))
        throw new ArchiveError(`is compressed with ${name}; only plain tar archives are accepted`);
  }

  #ignore({ meta, path, type, size }: ReadEntry): void {
    // It may hold the path of the entry that follows.
    if (meta)
      throw new ArchiveError(`has a header of ${size} bytes for one entry; the limit is ${maxMetaEntrySize}`);
    this.#skip(pathOf(path), `is of type ${type}`);
  }

  #guard(act: () => void, entry?: ReadEntry): void {
    try {
      act();
    } catch (error) {
      this.#failure ??= error;
      entry?.resume();
    }
  }

  #take(entry: ReadEntry): void {
    if (this.#failure !== undefined) {
      entry.resume();
      return;
    }
    const path = pathOf(entry.path);
    switch (entry.type) {
      case 'Directory':
        this.#makeFolder(path, entry.mode);
        break;
      case 'File':
      case 'OldFile':
      case 'ContiguousFile':
        return this.#write(entry, path);
      case 'Link':
        this.#link(path, pathOf(entry.linkpath ?? ''));
        break;
      case 'SymbolicLink':
        this.#addLink(path, entry.linkpath ?? '');
        break;
      default:
        this.#skip(path, `is of type ${entry.type}`);
    }
    entry.resume();
  }

  /** A hard link, which may be a second name of anything but a folder. */
  #link(path: string, from: string): void {
    const target = this.#links.get(from);
    if (target !== undefined) return this.#addLink(path, target);
    if (this.#skipped.has(from))
      return this.#skip(path, `is a hard link to ${quoted(from)}, which is not copied`);
    if (!this.#files.has(from)) throw refused(path, 'is a hard link to a file that does not precede it');
    this.#makeFolder(posix.dirname(path));
    linkSync(join(this.#folder, from), join(this.#folder, path));
    this.#files.add(path);
  }

  #addLink(path: string, target: string): void {
    if (target.length > maxPath)
      throw refused(path, `is a link to a path of more than ${maxPath} characters`);
    if (this.#links.has(path)) throw refused(path, 'occurs twice');
    if (leadsOut(path, target))
      this.#skip(path, `is a link that may lead out of the copied folder, to ${quoted(target)}`);
    else this.#links.set(path, target);
  }

  #write(entry: ReadEntry, path: string): void {
    if (path === '.') throw refused(path, 'is a file without a name');
    this.#makeFolder(posix.dirname(path));
    const file = openSync(join(this.#folder, path), 'wx', ((entry.mode ?? 0o644) & 0o777) | 0o600);
    this.#files.add(path);
    entry.on('data', (chunk: Buffer) =>
      this.#guard(() => {
        if (this.#failure !== undefined) return;
        for (let at = 0; at < chunk.length;) at += writeSync(file, chunk, at);
        this.#bytes += chunk.length;
      }),
    );
    entry.on('end', () => this.#guard(() => closeSync(file)));
  }

  /** An archive has a folder before its content. */
  #makeFolder(path: string, mode = 0o777): void {
    if (this.#made.has(path)) return;
    if (path !== '.') this.#makeFolder(posix.dirname(path));
    mkdirSync(join(this.#folder, path), (mode & 0o777) | 0o700);
    this.#made.add(path);
  }

  #skip(path: string, why: string): void {
    this.#skipped.set(path, why);
  }
}

/** A path below the folder, or `.` for it. @throws ArchiveError */
function pathOf(path: string): string {
  if (path.length > maxPath) throw refused(path, `has a path of more than ${maxPath} characters`);
  if (path.startsWith('/')) throw refused(path, 'has an absolute path');
  if (process.platform === 'win32' && /[\\:]/.test(path)) throw refused(path, 'is not a valid path here');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw refused(path, 'leaves the folder by ..');
  return parts.length === 0 ? '.' : parts.join('/');
}

function refused(path: string, wrong: string): ArchiveError {
  return new ArchiveError(`${quoted(path)} ${wrong}`);
}

function quoted(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}
