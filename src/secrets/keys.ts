import {
  formatKeys,
  generateKey,
  KeyError,
  mergeKeys,
  MissingKeyError,
  parseKeys,
  type Key,
  type KeyDocument,
} from './key-document.js';
import {
  createKeyFolder,
  keyFolderStamp,
  readKeyFolder,
  updateKeyFolder,
  type StoredKeys,
} from './key-folder.js';

export { KeyError, MissingKeyError, type Key } from './key-document.js';

/** The keys that encrypt and decrypt payloads. */
export interface KeyRing {
  /** The key to encrypt with. */
  current(): Key;
  /** @throws MissingKeyError naming the ID and how to get the key. */
  find(id: string): Key;
  list(): readonly KeySummary[];
  /** The path of the folder, or the source of the text. */
  readonly source: string;
}

/** A key without its secret. */
interface KeySummary {
  readonly id: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Whether it encrypts; all others only decrypt. */
  readonly current: boolean;
}

export interface KeyFolderOptions {
  readonly folder: string;
  /**
   * Creates the first key if there is none. Only for Heddle's own Temporal server: on a shared server a new
   * key could not decrypt anything.
   */
  readonly create: boolean;
  /** Interval of checks of the folder for a new current key, in ms. */
  readonly recheckMs?: number;
}

/** Opens a ring that follows changes of its folder, such as added and rotated keys. */
export function openKeyRing({ folder, create, recheckMs = 30_000 }: KeyFolderOptions): KeyRing {
  const stored = readKeyFolder(folder) ?? (create ? createRing(folder) : undefined);
  if (stored === undefined) {
    throw new MissingKeyError(
      `${folder} contains no keys, but payloads on this Temporal server are encrypted. ` +
        "Copy the keys of its workers: 'heddle keys export' on the machine of a worker, 'heddle keys import' here. " +
        "Only if Heddle has never run on this server, create the first key with 'heddle keys create'.",
    );
  }
  return new FolderKeyRing(folder, stored, recheckMs);
}

/**
 * A ring from text, as `heddle keys export` prints it: for keys from a secret store.
 * @param source names the text in errors, for example the environment variable.
 */
export function parseKeyRing(text: string, source: string): KeyRing {
  return new TextKeyRing(parseKeys(text, source), source);
}

/** Creates a ring with one key. @throws KeyError if there is one already. */
export function createKeys(folder: string): KeyRing {
  const key = generateKey();
  if (!createKeyFolder(folder, { current: key.id, keys: [key] })) {
    throw new KeyError(`${folder} already contains keys. Use 'heddle keys rotate' to create a new one.`, {
      code: 'Encryption',
    });
  }
  return openKeyRing({ folder, create: false });
}

/** Adds a key that only decrypts, for distribution before a worker encrypts with it. Returns its ID. */
export async function addKey(folder: string): Promise<string> {
  const key = generateKey();
  await updateKeyFolder(folder, (document) => ({ ...document, keys: [...document.keys, key] }));
  return key.id;
}

/** Makes a key of the ring the current one. @throws KeyError for an unknown one. */
export async function useKey(folder: string, id: string): Promise<void> {
  await updateKeyFolder(folder, (document) => {
    if (!document.keys.some((key) => key.id === id)) throw notInFolder(id, folder);
    return { ...document, current: id };
  });
}

/** Adds a new key and makes it the current one; older keys still decrypt. Returns its ID. */
export async function rotateKeys(folder: string): Promise<string> {
  const key = generateKey();
  await updateKeyFolder(folder, (document) => ({ current: key.id, keys: [...document.keys, key] }));
  return key.id;
}

/**
 * Removes a key: payloads encrypted with it become unreadable. @throws KeyError for the current key, or an
 * unknown one.
 */
export async function removeKey(folder: string, id: string): Promise<void> {
  await updateKeyFolder(folder, (document) => {
    if (!document.keys.some((key) => key.id === id)) throw notInFolder(id, folder);
    if (document.current === id)
      throw new KeyError(
        `key ${id} is the current key. Make another one current first, with 'heddle keys rotate'.`,
      );
    return { ...document, keys: document.keys.filter((key) => key.id !== id) };
  });
}

/** A key that someone named is not there. */
export function notInFolder(id: string, folder: string): KeyError {
  return new KeyError(`key ${id} is not in ${folder}`, { next: 'heddle keys list' });
}

/**
 * The whole ring as one line of JSON. It decrypts every payload: store it with mode 0600, and never show it.
 */
export function exportKeys(folder: string): string {
  const stored = readKeyFolder(folder);
  if (stored === undefined) throw new MissingKeyError(`${folder} contains no keys to export.`);
  return formatKeys(stored.document);
}

/**
 * Adds exported keys. An existing ring keeps its current key; a new ring uses the exported one. @returns the
 * IDs of new keys.
 */
export async function importKeys(folder: string, text: string, source: string): Promise<readonly string[]> {
  const added = parseKeys(text, source);
  if (createKeyFolder(folder, added)) return added.keys.map((key) => key.id);
  let fresh: readonly string[] = [];
  await updateKeyFolder(folder, (document) => {
    const merged = mergeKeys(document, added, source);
    fresh = merged.keys.slice(document.keys.length).map((key) => key.id);
    return merged;
  });
  return fresh;
}

class TextKeyRing implements KeyRing {
  readonly source: string;
  readonly #document: KeyDocument;

  constructor(document: KeyDocument, source: string) {
    this.#document = document;
    this.source = source;
  }

  current(): Key {
    return this.find(this.#document.current);
  }

  find(id: string): Key {
    const key = this.#document.keys.find((candidate) => candidate.id === id);
    if (key === undefined)
      throw new MissingKeyError(
        `Payload key ${id} is not in ${this.source}. Copy it from a machine that has it: 'heddle keys export' there, 'heddle keys import' here.`,
      );
    return key;
  }

  list(): readonly KeySummary[] {
    return this.#document.keys.map(({ id, createdAt }) => ({
      id,
      createdAt,
      current: id === this.#document.current,
    }));
  }
}

class FolderKeyRing implements KeyRing {
  readonly #folder: string;
  readonly #recheckMs: number;
  #stamp: string;
  #ring: TextKeyRing;
  #checkedAt = Date.now();

  constructor(folder: string, stored: StoredKeys, recheckMs: number) {
    this.#folder = folder;
    this.#recheckMs = recheckMs;
    this.#stamp = stored.stamp;
    this.#ring = new TextKeyRing(stored.document, folder);
  }

  current(): Key {
    if (Date.now() - this.#checkedAt >= this.#recheckMs) this.#refresh();
    return this.#ring.current();
  }

  get source(): string {
    return this.#folder;
  }

  find(id: string): Key {
    if (!this.#ring.list().some((key) => key.id === id)) this.#refresh();
    return this.#ring.find(id);
  }

  list(): readonly KeySummary[] {
    this.#refresh();
    return this.#ring.list();
  }

  /** If the folder was deleted, the keys in memory remain in use. */
  #refresh(): void {
    this.#checkedAt = Date.now();
    if (keyFolderStamp(this.#folder) === this.#stamp) return;
    const stored = readKeyFolder(this.#folder);
    if (stored === undefined) return;
    this.#stamp = stored.stamp;
    this.#ring = new TextKeyRing(stored.document, this.#folder);
  }
}

function createRing(folder: string): StoredKeys | undefined {
  const key = generateKey();
  createKeyFolder(folder, { current: key.id, keys: [key] });
  return readKeyFolder(folder);
}
