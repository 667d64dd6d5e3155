// @ts-check
import { spawnSync } from 'node:child_process';
import { cp, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { bundleCli, cliBundle } from './bundle-cli.mjs';
import { testedWithTables } from './components.mjs';
import { isMain, root, runMain, say } from './environment.mjs';
import { writeFieldTypes } from './field-types.mjs';
import { hashFiles } from './hash.mjs';
import { withLock } from './lock.mjs';

const source = join(root, 'src');
const dist = join(root, 'dist');
const compiled = /\.(?:js|js\.map|d\.ts)$/;
const bundle = join(dist, 'workflow-bundle.js');

/**
 * Builds dist/, schemas/, what pages of docs/ take from the code and the types of the plugins' fields from
 * src/. Only what changed is done again. Throws with the compiler's words when types are wrong, though
 * everything that could be written has been written by then.
 * @param {{ force?: boolean }} [options]
 */
export function build({ force = false } = {}) {
  return withLock(join(root, 'node_modules', '.heddle-build.lock'), {
    waiting: () => say('waiting for another build of this folder'),
    work: async () => {
      writeFieldTypes();
      const state = await sourceState();
      if (!force && (await readState()) === `${state} ${await pagesState()}`) return;
      // What is interrupted is done again.
      await rm(stateFile, { force: true });
      if (force) await rm(dist, { recursive: true, force: true });
      await mkdir(dist, { recursive: true });
      await removeLeftovers();
      const complaints = compile();
      await copyAssets();
      await bundleWorkflows();
      await bundleCli();
      if (complaints !== '') throw new Error(`the sources have type errors:\n${complaints}`);
      publish();
      await publishComponents();
      await writeFile(stateFile, `${state} ${await pagesState()}`);
    },
  });
}

const stateFile = join(dist, '.built-from');

/** What the output depends on: sources, compiler settings, packages. */
function sourceState() {
  const settings = [
    'tsconfig.json',
    'tsconfig.build.json',
    'package-lock.json',
    'tools/build.mjs',
    'tools/bundle-cli.mjs',
    'tools/components.mjs',
  ].map((name) => join(root, name));
  return hashFiles([source, ...settings]);
}

/** Pages are source and output: their state is that after the build has written into them. */
async function pagesState() {
  const pages = join(root, 'docs');
  return existsSync(pages) ? hashFiles([pages]) : '';
}

function readState() {
  return readFile(stateFile, 'utf8').catch(() => '');
}

/** Returns the compiler's complaints, '' when there are none. */
function compile() {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (error) throw error;
  return status === 0 ? '' : `${stdout}${stderr}`.trim() || `tsc ended with ${status}`;
}

/** A file of dist whose source was renamed or removed would go on being found, by the plugin scan for one. */
async function removeLeftovers() {
  for (const file of await filesUnder(dist)) {
    const name = relative(dist, file);
    if (dirname(name) === '.' && !compiled.test(name)) continue;
    if (file === bundle || dirname(file) === cliBundle) continue;
    const origins = compiled.test(name) ? [name.replace(compiled, '.ts')] : [name];
    if (origins.some((origin) => existsSync(join(source, origin)))) continue;
    // Otherwise the compiler takes the file as written if its source comes back.
    await rm(join(dist, '.tsbuildinfo'), { force: true });
    await rm(file);
  }
}

/** Descriptors, scripts and programs that lie beside the sources. */
async function copyAssets() {
  for (const file of await filesUnder(source)) {
    if (file.endsWith('.ts')) continue;
    const target = join(dist, relative(source, file));
    await mkdir(dirname(target), { recursive: true });
    await cp(file, target, { preserveTimestamps: true });
  }
}

async function bundleWorkflows() {
  const entry = join(dist, 'workflows', 'index.js');
  if (!existsSync(entry)) {
    await rm(bundle, { force: true });
    return say('no workflow bundle: src/workflows/index.ts does not exist');
  }
  // Workflows may import these two folders alone; the failure converter is given to the bundler by its path.
  const converter = join(dist, 'secrets', 'failure-converter.js');
  const inputs = [
    join(dist, 'workflows'),
    join(dist, 'model'),
    converter,
    join(root, 'package-lock.json'),
    join(root, 'tools', 'build.mjs'),
  ];
  const hash = await hashFiles(inputs.filter((input) => existsSync(input)));
  const hashFile = join(dist, '.bundled-from');
  if (existsSync(bundle) && (await readFile(hashFile, 'utf8').catch(() => '')) === hash) return;

  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: entry,
    workflowInterceptorModules: [join(dist, 'workflows', 'interceptors.js')],
    ...(existsSync(converter) ? { failureConverterPath: converter } : {}),
    logger: quietLogger,
    // The SDK requires a source map: lines alone, and without the sources, which the package lacks.
    webpackConfigHook: (config) => ({
      ...config,
      devtool: 'inline-nosources-cheap-module-source-map',
      output: {
        ...config.output,
        devtoolModuleFilenameTemplate: ({ absoluteResourcePath: path }) => path.replace(root + sep, ''),
      },
    }),
  });
  await writeFile(`${bundle}.new`, withoutPromiseTraces(code));
  await rename(`${bundle}.new`, bundle);
  await writeFile(hashFile, hash);
}

/**
 * The SDK records for each promise of a workflow where it was made, for the query `__stack_trace`. That takes
 * half of the time of a workflow task. Its hook finds the workflow of a promise through the constructor of
 * `Promise`; here it finds none. A worker with `stackTraces` leaves out the marked line and gets short
 * traces. Later than this the SDK freezes both objects.
 * @param {string} code
 * @returns {string}
 */
function withoutPromiseTraces(code) {
  const at = code.lastIndexOf('//# sourceMappingURL');
  const lines = [
    "Object.defineProperty(Promise, 'constructor', { value: () => () => undefined }); // no promise traces",
    'Error.stackTraceLimit = Math.min(Error.stackTraceLimit, 4);',
  ];
  return `${code.slice(0, at)}${lines.join('\n')}\n${code.slice(at)}`;
}

/** Programs that write files of the repository, and where to. */
const publishers = [
  ['schema/publish.js', 'schemas'],
  ['cli/reference/main.js', 'docs'],
];

/** Writes the JSON Schemas and the parts of pages that the code declares. */
function publish() {
  for (const [program = '', target = ''] of publishers) {
    if (!existsSync(join(dist, program))) continue;
    const { status, stderr, error } = spawnSync(process.execPath, [join(dist, program), target], {
      cwd: root,
      encoding: 'utf8',
    });
    if (error) throw error;
    if (status !== 0) throw new Error(`${target} cannot be written:\n${stderr.trim()}`);
  }
}

/** The tables of docs/reference/tested-with.md are its last part. */
async function publishComponents() {
  const page = join(root, 'docs', 'reference', 'tested-with.md');
  if (!existsSync(page)) return;
  const text = await readFile(page, 'utf8');
  const tables = testedWithTables();
  const [heading = ''] = tables.split('\n');
  const start = text.indexOf(`\n${heading}\n`) + 1;
  if (start === 0) throw new Error(`${page} has no heading "${heading}", after which its tables go`);
  const filled = `${text.slice(0, start)}${tables}\n`;
  if (filled !== text) await writeFile(page, filled);
}

/** Every file below a folder. @param {string} folder @returns {Promise<string[]>} */
async function filesUnder(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

const quiet = () => undefined;
const quietLogger = {
  log: quiet,
  trace: quiet,
  debug: quiet,
  info: quiet,
  /** @param {string} message */ warn: (message) => say(message),
  /** @param {string} message */ error: (message) => say(message),
};

if (isMain(import.meta.url)) await runMain(() => build({ force: process.argv.includes('--force') }));
