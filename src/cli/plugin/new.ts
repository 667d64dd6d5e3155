import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliError } from '../cli-error.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';

type PluginType = 'provider' | 'automator';

/** Writes a plugin that passes its suite into the current folder. Nothing that is there is changed. */
export async function create(type: PluginType, name: string, options: { readonly json?: boolean }): Promise<number> {
  if (!/^[a-z][a-z0-9_-]{0,40}$/.test(name)) {
    throw new CliError('Usage', `${JSON.stringify(name)} is no name of a plugin: lower-case letters, digits, hyphens and underscores, a letter first`);
  }
  const root = process.cwd();
  const plugin = join(root, `${type}s`, name);
  if (existsSync(plugin)) throw new CliError('Refused', `${relative(root, plugin)} is there already; choose another name, or move it away`);
  const files: Readonly<Record<string, string>> = {
    [`${type}s/${name}/${name}.json`]: fill(`${type}.json`, name),
    [`${type}s/${name}/${name}.ts`]: fill(`${type}.ts`, name),
    [`test/${name}.test.mjs`]: fill(`${type}.test.mjs`, name),
    'package.json': fill('package.json', name), 'tsconfig.json': fill('tsconfig.json', name),
  };
  const written = Object.entries(files).filter(([path]) => !existsSync(join(root, path)));
  for (const [path, text] of written) {
    mkdirSync(dirname(join(root, path)), { recursive: true, mode: 0o755 });
    writeFileSync(join(root, path), text, { mode: 0o644 });
  }
  const output = createOutput(options);
  for (const [path] of written) output.line(`wrote ${path}`);
  output.line('\nTry it:   npm install && npm test\nUse it:   plugins: [.]   in heddle.yaml');
  output.document({ type, name, files: written.map(([path]) => path) });
  return Promise.resolve(exitCodes.ok);
}

const templates = ['./templates/', '../../../src/cli/plugin/templates/'].map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path)) ?? '';

function fill(file: string, name: string): string {
  const className = name.split(/[-_]/).map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join('');
  return readFileSync(join(templates, `${file}.template`), 'utf8').replaceAll('{{name}}', name).replaceAll('{{Class}}', className).replaceAll('{{heddle}}', heddleVersion());
}

/** A checkout is linked to; what came from a registry is asked for by its version. */
function heddleVersion(): string {
  const home = fileURLToPath(new URL('../../../', import.meta.url));
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { readonly version: string };
  return home.includes(`${join('node_modules', 'heddle')}`) ? `^${version}` : `file:${home.replace(/\/$/, '')}`;
}
