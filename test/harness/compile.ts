import { execFileSync } from 'node:child_process';
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Compiles parts of src to a folder of its own, for tests that need a process to kill. The caller removes the
 * folder.
 */
export function compile(files: readonly string[]): string {
  const root = resolve(import.meta.dirname, '../..');
  const folder = mkdtempSync(join(tmpdir(), 'heddle-compiled-'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}\n');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      files: files.map((file) => join(root, file)),
      include: [],
      compilerOptions: {
        noEmit: false,
        rootDir: root,
        outDir: folder,
        typeRoots: [join(root, 'node_modules/@types')],
      },
    }),
  );
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    stdio: 'pipe',
  });
  return folder;
}
