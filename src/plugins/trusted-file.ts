import { readFile } from 'node:fs/promises';
import { whyFilesUntrusted } from '../schema/named-files.js';
import { describeDistrust } from '../schema/trusted-path.js';

/**
 * Reads a file that decides what a provider does, such as an inventory.
 * @throws Error in words for a file that other users own or may write, else what readFile throws.
 */
export async function readTrustedFile(path: string): Promise<string> {
  refuseUntrusted(path);
  return readFile(path, 'utf8');
}

/** @throws Error in words for a file or folder that other users own or may write. */
export function refuseUntrusted(path: string): void {
  const distrust = whyFilesUntrusted('file', path);
  if (distrust !== undefined) throw new UntrustedFile(describeDistrust(distrust));
}

/** A folder above it may become writable without a change of the file. */
export function isTrusted(path: string): boolean {
  try {
    return whyFilesUntrusted('file', path) === undefined;
  } catch {
    return false;
  }
}

export class UntrustedFile extends Error {}
