import { existsSync, readdirSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Descriptor } from '../schema/descriptor.js';
import { readTextFile } from '../schema/read-text.js';
import { checkFile } from './check-file.js';

export type EntryReading =
  | { readonly ok: true; readonly path: string; readonly command?: readonly string[] }
  | { readonly ok: false; readonly wrong: string };

/**
 * The module that exports the plugin's class: as the descriptor names it, else the one of the folder that
 * declares the class.
 */
export function findEntry(folder: string, descriptor: Descriptor): EntryReading {
  const { entry } = descriptor;
  if (entry === undefined) return findDeclaring(folder, descriptor);
  // Running from source, the TypeScript stands where the module will be.
  const candidates = entry.endsWith('.js') ? [entry, entry.replace(/\.js$/, '.ts')] : [entry];
  const there = candidates.find((candidate) => isFile(join(folder, candidate)));
  return there === undefined
    ? { ok: false, wrong: `there is no file ${candidates.join(' or ')} in ${folder}` }
    : checkFile(join(folder, there), folder, entry);
}

/**
 * A program of its own: words that begin with `./` are files of the plugin's folder; the first may be looked
 * for on PATH.
 */
export function findCommand(folder: string, words: readonly string[]): EntryReading {
  const [program = ''] = words;
  const files = words.filter((word) => word.startsWith('./'));
  if (program.includes('/') && !program.startsWith('./') && !program.startsWith('/'))
    return { ok: false, wrong: `${program} must begin with ./, or be a name on PATH` };
  const readings = files.map((word): EntryReading => {
    const path = join(folder, word);
    return isFile(path)
      ? checkFile(path, folder, word)
      : { ok: false, wrong: `there is no file ${word} in ${folder}` };
  });
  const wrong = readings.find((reading) => !reading.ok);
  if (wrong !== undefined) return wrong;
  const command = words.map((word) => (word.startsWith('./') ? join(folder, word) : word));
  if (
    program.startsWith('./') &&
    process.platform !== 'win32' &&
    (statSync(join(folder, program)).mode & 0o111) === 0
  ) {
    return { ok: false, wrong: `${program} may not be executed; chmod +x '${join(folder, program)}'` };
  }
  return { ok: true, path: command[0] ?? '', command };
}

/**
 * In the order in which they are taken where a class is there more than once: what is compiled before its
 * source.
 */
const endings = ['.js', '.mjs', '.cjs', '.ts'] as const;

/** Of the seed's form: the class may be in any module of the folder, whatever the file is called. */
function findDeclaring(folder: string, { name, class: className = '' }: Descriptor): EntryReading {
  const named = endings.map((ending) => `${name}${ending}`).find((file) => isFile(join(folder, file)));
  const modules = readdirSync(folder)
    .toSorted()
    .filter(
      (file) =>
        endings.some((ending) => ending === extname(file)) &&
        !file.endsWith('.d.ts') &&
        isFile(join(folder, file)),
    );
  const declaring = modules.filter((file) => declares(join(folder, file), className));
  const stems = new Set(declaring.map(stemOf));
  // One that is named like the plugin comes first, and may have its class from elsewhere.
  const [only] = stems.size === 1 ? stems : [];
  const chosen =
    [name, only]
      .flatMap((stem) => endings.map((ending) => `${stem ?? ''}${ending}`))
      .find((file) => declaring.includes(file)) ?? named;
  if (chosen !== undefined) return checkFile(join(folder, chosen), folder, chosen);
  if (stems.size > 1)
    return {
      ok: false,
      wrong: `class ${className} is in ${declaring.join(' and ')}; keep one of them, or name it ${name}${extname(declaring[0] ?? '')}`,
    };
  const ruby = readdirSync(folder).find((file) => file.endsWith('.rb'));
  const advice =
    ruby === undefined
      ? `; looked through ${modules.join(', ') || 'no file that ends so'}`
      : `; ${ruby} is run by "command" in place of a class, see docs/plugin-programs.md`;
  return { ok: false, wrong: `no ${endings.join(', ')} file in ${folder} has a class ${className}${advice}` };
}

/** Whatever is longer was bundled, and stands under the plugin's name. */
const maxModuleBytes = 8 * 1024 * 1024;

function declares(file: string, className: string): boolean {
  const read = readTextFile(file, maxModuleBytes);
  const word = className.replaceAll('$', '\\$');
  return (
    read.ok && new RegExp(`\\bclass\\s+${word}(?![\\w$])|(?<![\\w$])${word}\\s*=\\s*class\\b`).test(read.text)
  );
}

function stemOf(file: string): string {
  return file.slice(0, -extname(file).length);
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}
