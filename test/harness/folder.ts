import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanAfterFile } from './leftovers.js';

/** A new folder; it is removed after the tests of the file. */
export function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-')));
  cleanAfterFile(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
