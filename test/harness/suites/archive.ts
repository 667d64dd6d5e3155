import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';

/** A tar archive with one small file in a folder, to be uploaded as an image. */
export async function archiveOf(
  folder: string,
  name: string,
): Promise<{ readonly file: string; readonly remove: () => void }> {
  const place = mkdtempSync(join(tmpdir(), 'heddle-upload-'));
  mkdirSync(join(place, folder));
  writeFileSync(join(place, folder, name), 'hello\n');
  const file = join(place, 'image.tar');
  await create({ file, cwd: place }, [folder]);
  return { file, remove: () => rmSync(place, { recursive: true, force: true }) };
}
