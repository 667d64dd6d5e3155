import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { readIfPresent, writePrivateFile } from './files.js';

export function apiKeyFile(dataFolder: string): string {
  return join(dataFolder, 'api-key');
}

/** The folder's API key, made at the first start. */
export function loadApiKey(dataFolder: string): string {
  const path = apiKeyFile(dataFolder);
  const known = readIfPresent(path)?.trim();
  if (known !== undefined && known !== '') {
    chmodSync(path, 0o600);
    return known;
  }
  const key = randomBytes(32).toString('hex');
  writePrivateFile(path, `${key}\n`);
  return key;
}

/** Compares in constant time; hashing first hides the length too. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
