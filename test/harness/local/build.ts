import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const settings = fileURLToPath(new URL('./tsconfig.json', import.meta.url));

/**
 * The service as it stands in src/local, compiled once: it is a process of its own, and runs on plain Node.
 */
export function builtService(): string {
  const cache = join(root, 'node_modules', '.cache');
  const folder = join(
    cache,
    `heddle-local-${hashOf(join(root, 'src', 'local'), join(root, 'src', 'config', 'child-environment.ts'))}`,
  );
  if (!existsSync(folder)) compile(cache, folder);
  return join(folder, 'local', 'main.js');
}

/** All of it is there at once, or nothing. */
function compile(cache: string, folder: string): void {
  mkdirSync(cache, { recursive: true });
  const making = mkdtempSync(join(cache, 'making-'));
  try {
    writeFileSync(join(making, 'package.json'), '{"type":"module"}');
    execFileSync(process.execPath, [
      join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
      '-p',
      settings,
      '--outDir',
      making,
    ]);
    renameSync(making, folder);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

function hashOf(sources: string, imported: string): string {
  const hash = createHash('sha256')
    .update(readFileSync(settings))
    .update(readFileSync(imported))
    .update(readFileSync(join(root, 'package-lock.json')));
  for (const entry of readdirSync(sources, { recursive: true, withFileTypes: true })) {
    if (entry.isFile())
      hash.update(`${entry.name}\0`).update(readFileSync(join(entry.parentPath, entry.name)));
  }
  return hash.digest('hex').slice(0, 16);
}
