// Runs a benchmark by its name. Usage: npm run bench -- NAME [ARGUMENT ...]
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const helpers = [
  'bare-worker',
  'bare-workflow',
  'parts',
  'run',
  'simulated-plugins',
  'simulated-worker',
  'stack',
];
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => file.slice(0, -'.mjs'.length))
  .filter((name) => !helpers.includes(name));
const [name, ...words] = process.argv.slice(2);
if (!names.includes(name)) {
  console.error(`usage: npm run bench -- NAME [ARGUMENT ...]\nnames: ${names.join(', ')}`);
  process.exit(2);
}
/** @param {string[]} command */
const run = (...command) => spawnSync(process.execPath, command, { stdio: 'inherit' }).status ?? 1;
const isBuilt = run(`${folder}../tools/build.mjs`) === 0;
process.exitCode = isBuilt ? run(`${folder}${name}.mjs`, ...words) : 1;
