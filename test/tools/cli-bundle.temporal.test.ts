import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';

const folder = join(inject('distPath'), 'cli-bundle');

/** The files that Node loads together with one, and the packages that these load. */
function loadedWith(
  file: string,
  loaded = { files: new Set<string>(), packages: new Set<string>() },
): typeof loaded {
  if (loaded.files.has(file)) return loaded;
  loaded.files.add(file);
  for (const [, name = ''] of readFileSync(join(folder, file), 'utf8').matchAll(
    /(?<![\w.])(?:import|export)(?:[\w\s{},*$]+from)? ?"([^"]+)"/g,
  ))
    if (name.startsWith('./')) loadedWith(name.slice(2), loaded);
    else if (!name.startsWith('node:')) loaded.packages.add(name);
  return loaded;
}

/** The file of a verb, by what it exports. */
function fileWith(name: string): string {
  const files = readdirSync(folder).filter((file) => file.endsWith('.js'));
  return (
    files.find((file) => new RegExp(`as ${name}[, }]`).test(readFileSync(join(folder, file), 'utf8'))) ?? name
  );
}

describe('the bundled command line', () => {
  test('loads no configuration, no client and no package before it knows the command', () => {
    const { files, packages } = loadedWith('main.js');
    expect([...files].map((name) => name.split('-', 1).join()).toSorted()).toEqual([
      'main.js',
      'program',
      'rolldown',
    ]);
    expect([...packages]).toEqual([]);
  });

  test('loads no native code to speak to a server', () => {
    const { files, packages } = loadedWith(fileWith('reconfigure'));
    expect([...files].some((name) => name.startsWith('session-'))).toBe(true);
    expect([...packages]).toEqual([]);
  });
});
