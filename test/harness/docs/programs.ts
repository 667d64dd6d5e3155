import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

export interface Programs {
  /** Holds a .js file for each program. */
  readonly folder: string;
  remove(): void;
}

/**
 * Compiles the TypeScript programs of documents under `strict`; a first line `// name.ts` names
 * a program's file.
 * @throws with the compiler's errors.
 */
export function compilePrograms(...documents: readonly string[]): Programs {
  // Inside the package, so that its own name is found.
  const folder = join(root, 'dist', `.programs-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const blocks = documents.flatMap((name) => [
    ...readFileSync(join(root, name), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms),
  ]);
  const files = blocks.map(([, text = ''], index) => {
    const file = join(folder, /^\/\/ (\S+\.ts)$/m.exec(text)?.[1] ?? `program-${index + 1}.ts`);
    writeFileSync(file, text);
    return file;
  });
  const settings = [
    '--strict --target es2022 --module nodenext --moduleResolution nodenext --types node --skipLibCheck',
    '--ignoreConfig',
  ].join(' ');
  try {
    execFileSync(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), ...settings.split(' '), ...files],
      { cwd: root, encoding: 'utf8', stdio: 'pipe' },
    );
  } catch (error) {
    remove();
    throw new Error(`the programs of ${documents.join(', ')} do not compile:\n${outputOf(error)}`, {
      cause: error,
    });
  }
  return { folder, remove };
}

function outputOf(error: unknown): string {
  return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
}
