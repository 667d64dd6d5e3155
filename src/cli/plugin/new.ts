import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliError } from '../errors.js';
import { packageFolder } from '../package-folder.js';
import { localVerb } from '../verb.js';

type Language = 'typescript' | 'python' | 'ruby' | 'shell';
type PluginType = 'provider' | 'automator';

interface NewOptions {
  readonly json?: boolean;
  readonly language?: Language;
}

/** Writes a plugin that passes its suite into the current folder. Changes no existing file. */
export const create = localVerb(
  (type: PluginType, name: string, { language = 'typescript' }: NewOptions) => {
    if (!/^[a-z][a-z0-9_-]{0,40}$/.test(name)) {
      throw new CliError(
        'Usage',
        `${JSON.stringify(name)} is not a valid plugin name: use lower-case letters, digits, hyphens and underscores, starting with a letter`,
      );
    }
    const root = process.cwd();
    const plugin = join(root, `${type}s`, name);
    if (existsSync(plugin))
      throw new CliError(
        'Refused',
        `${relative(root, plugin)} already exists; choose another name, or move it away`,
      );
    const files: Readonly<Record<string, string>> = {
      ...sources(type, name, language),
      // The suite of an automator needs no settings.
      ...(type === 'provider'
        ? { [`providers/${name}/${name}.suite.yaml`]: fill('provider.suite.yaml', name) }
        : {}),
      ...(language === 'typescript'
        ? {
            [`test/${name}.test.mjs`]: fill(`${type}.test.mjs`, name),
            'package.json': fill('package.json', name),
            'tsconfig.json': fill('tsconfig.json', name),
          }
        : {}),
    };
    const written = Object.entries(files).filter(([path]) => !existsSync(join(root, path)));
    for (const [path, text] of written) {
      mkdirSync(dirname(join(root, path)), { recursive: true, mode: 0o755 });
      writeFileSync(join(root, path), text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
    }
    return { type, name, language, files: written.map(([path]) => path) };
  },
  {
    document: ({ type, name, files }) => ({ type, name, files }),
    print: (output, { name, language, files }) => {
      for (const path of files) output.line(`wrote ${path}`);
      output.line(`\nTry it:   heddle plugins test ${name}`);
      if (language === 'typescript') output.line('Types:    npm install && npm test');
      output.line('Use it:   plugins: [.]   in heddle.yaml');
    },
  },
);

/** The examples in other languages are whole plugins too. */
const examples: Readonly<Record<PluginType, Readonly<Partial<Record<Language, string>>>>> = {
  provider: { python: 'machines', ruby: 'machines-ruby' },
  automator: { python: 'scripts', ruby: 'scripts-ruby', shell: 'steps' },
};

const endings = { python: 'py', ruby: 'rb', shell: 'sh' } as const;

function sources(type: PluginType, name: string, language: Language): Readonly<Record<string, string>> {
  const at = (ending: string): string => `${type}s/${name}/${name}.${ending}`;
  if (language === 'typescript')
    return { [at('json')]: fill(`${type}.json`, name), [at('ts')]: fill(`${type}.ts`, name) };
  const example = examples[type][language];
  if (example === undefined) {
    throw new CliError(
      'Usage',
      `there is no template of ${type === 'automator' ? 'an' : 'a'} ${type} in ${language}, only in ${['typescript', ...Object.keys(examples[type])].join(', ')}; docs/reference/plugins/programs.md describes the input and output of a program`,
    );
  }
  const ending = endings[language];
  const file = (extension: string): string =>
    readFileSync(
      join(packageFolder, 'examples', 'plugins', `${type}s`, example, `${example}.${extension}`),
      'utf8',
    );
  const { command, ...descriptor } = JSON.parse(file('json')) as { readonly command: readonly string[] };
  const words = command.map((word) => word.replace(`./${example}.`, `./${name}.`));
  const own = {
    ...descriptor,
    $schema: '../../node_modules/heddle/schemas/plugin.schema.json',
    name,
    command: words,
    version: '0.1.0',
    description: `${type === 'provider' ? 'Machines' : 'Services'} of ${name}`,
  };
  return { [at('json')]: `${JSON.stringify(own, undefined, 2)}\n`, [at(ending)]: file(ending) };
}

const templates =
  ['./templates/', '../../../src/cli/plugin/templates/']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path)) ?? '';

function fill(file: string, name: string): string {
  const className = name
    .split(/[-_]/)
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join('');
  return readFileSync(join(templates, `${file}.template`), 'utf8')
    .replaceAll('{{name}}', name)
    .replaceAll('{{Class}}', className)
    .replaceAll('{{heddle}}', heddleVersion())
    .replaceAll('{{typescript}}', packageOf(packageFolder).devDependencies.typescript);
}

/** Links a checkout, and requires a published package by its version. */
function heddleVersion(): string {
  const { version } = packageOf(packageFolder);
  return packageFolder.includes(`${join('node_modules', 'heddle')}`)
    ? `^${version}`
    : `file:${packageFolder.replace(/\/$/, '')}`;
}

interface OwnPackage {
  readonly version: string;
  readonly devDependencies: { readonly typescript: string };
}

function packageOf(folder: string): OwnPackage {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as OwnPackage;
}
