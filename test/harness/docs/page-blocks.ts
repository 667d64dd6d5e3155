import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { commandPath } from '../cli/run-heddle.js';

const root = join(import.meta.dirname, '../../..');

/** The shell commands of a page, block by block, below a heading `##`. */
export function shellBlocks(page: string, heading: string): readonly string[] {
  const section = readFileSync(join(root, page), 'utf8')
    .split(/^## /m)
    .find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`${page} has no heading ${heading}`);
  return [...section.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** Runs the blocks of a page with `heddle` of a build in PATH, and a home in the folder. Returns what they printed. */
export function openShell(
  folder: string,
  distPath: string,
  env: () => Readonly<Record<string, string>>,
): (block: string) => Promise<string> {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const program = `"${process.execPath}" "${join(distPath, 'cli-bundle', 'main.js')}"`;
  writeFileSync(join(bin, 'heddle'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
  return async (block) => {
    const child = spawn('sh', ['-e', '-c', block], {
      cwd: folder,
      env: { PATH: [bin, commandPath].join(delimiter), HOME: folder, ...env() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const read = (chunk: string): void => void (output += chunk);
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`${block}\nended with ${code}:\n${output}`);
    return output;
  };
}
