import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { commandPages } from './commands.js';
import { errorsPage } from './errors.js';
import { fillSections } from './generated-sections.js';

/** Writes what the code declares into the pages of a folder: `node dist/cli/reference/main.js docs`. */
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('name the folder of the pages');

const generated: Readonly<Record<string, string>> = {
  ...commandPages(),
  'reference/errors.md': errorsPage(),
};
const commandFolder = join(folder, 'reference', 'commands');
mkdirSync(commandFolder, { recursive: true });
for (const name of readdirSync(commandFolder))
  if (generated[`reference/commands/${name}`] === undefined) rmSync(join(commandFolder, name));
for (const [page, text] of Object.entries(generated)) writePage(join(folder, page), text);

for (const page of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  if (!page.endsWith('.md') || generated[page] !== undefined) continue;
  const text = readFileSync(join(folder, page), 'utf8');
  const filled = fillSections(text);
  if (filled !== text) writePage(join(folder, page), filled);
}

function writePage(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
