import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TaskResource } from '../../../src/plugins/contract.js';
import { writeArchive } from '../../../src/store/archive/write-archive.js';

/** A folder of files as the engine lays it out on a worker, beside its archive. */
export function storedArchive(home: string, files: Readonly<Record<string, string>>): TaskResource {
  const bytes = writeArchive(
    Object.entries(files).map(([path, text]) => ({
      path,
      kind: 'file',
      executable: true,
      bytes: Buffer.from(text),
    })),
  );
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const path = join(home, 'worker', digest, 'files');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  const archive = join(path, '..', 'archive.tar');
  writeFileSync(archive, bytes);
  return { resource: 'stored', digest, format: 'archive', path, archive };
}
