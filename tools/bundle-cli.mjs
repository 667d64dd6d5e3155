// @ts-check
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';
import { root } from './environment.mjs';

const dist = join(root, 'dist');

/** Where the bundled command line is; bin/heddle.mjs starts `main.js` in it. */
export const cliBundle = join(dist, 'cli-bundle');

/**
 * Files by the module whose imports they contain, except those that an earlier file has. Reading hundreds of
 * files would take most of the time of a short command.
 */
const files = [
  ['program', 'cli/main.js'],
  ['configuration', 'cli/configuration.js'],
  // For completion, which takes longer than people wait if it loads a client.
  ['variables', 'schema/cluster/read-variables.js'],
  ['session', 'cli/session.js'],
].map(([name = '', module = '']) => ({ name, module: join(dist, module) }));

const entry = join(dist, 'cli', 'main.js');

/** Temporal's SDK loads it by its path; from `dist` it would come with a second copy of the SDK. */
const converter = { name: 'failure-converter', module: join(dist, 'secrets', 'failure-converter.js') };

/**
 * Packages with native code, and those that need files of their own: loaded from node_modules by the few
 * verbs that use them.
 */
const external = ['@temporalio/worker', 'ssh2'];

/** Bundles dist/cli with the packages that it uses. Function names stay, so that stack traces can be read. */
export async function bundleCli() {
  /** @type {Map<string, string>} */
  const fileOf = new Map();
  const bundle = await rolldown({
    input: { main: entry, [converter.name]: converter.module },
    platform: 'node',
    cwd: root,
    external,
    // Names that CommonJS modules of packages use.
    transform: { define: { __filename: 'import.meta.filename', __dirname: 'import.meta.dirname' } },
    checks: { ineffectiveDynamicImport: false },
    plugins: [
      {
        name: 'heddle',
        load: loadProtocol,
        transform: keepOwnLocation,
        buildEnd() {
          for (const { name, module } of files) {
            const rest = [module];
            for (let id = rest.pop(); id !== undefined; id = rest.pop()) {
              const info = fileOf.has(id) ? null : this.getModuleInfo(id);
              if (info === null) continue;
              fileOf.set(id, name);
              rest.push(...info.importedIds);
            }
          }
          // The others import no file that still waits for what it does.
          fileOf.delete(entry);
        },
      },
    ],
  });
  // A command that runs meanwhile finds either all old files or all new ones.
  const fresh = `${cliBundle}.new`;
  try {
    const { output } = await bundle.write({
      dir: fresh,
      cleanDir: true,
      chunkFileNames: '[name]-[hash].js',
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
      codeSplitting: {
        groups: files.map(({ name }, at) => ({
          name,
          priority: files.length - at,
          test: (id) => fileOf.get(id) === name,
        })),
      },
    });
    await writeLicences(
      fresh,
      output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : [])),
    );
  } finally {
    await bundle.close();
  }
  await rm(cliBundle, { recursive: true, force: true });
  await rename(fresh, cliBundle);
}

/**
 * Writes the licences of the packages of these modules.
 * @param {string} folder
 * @param {readonly string[]} modules
 */
async function writeLicences(folder, modules) {
  const packages = new Set(
    modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
  );
  const texts = [...packages].toSorted().map(async (path) => {
    const { name, version, license } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8'));
    const file = (await readdir(path)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? '' : await readFile(join(path, file), 'utf8');
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  await writeFile(join(folder, 'LICENSES.txt'), (await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n\n`));
}

/**
 * A module finds files beside it as if it were not bundled.
 * @param {string} code
 * @param {string} id
 */
function keepOwnLocation(code, id) {
  if (!id.startsWith(dist + sep) || !code.includes('import.meta.')) return undefined;
  const location = `new URL(${JSON.stringify(relative(cliBundle, id))}, import.meta.url).href`;
  return code
    .split(`new URL('../${relative(root, converter.module)}', import.meta.url)`)
    .map((part) =>
      part.replaceAll(/import\.meta\.(\w+)/g, (_, property) => {
        if (property !== 'url')
          throw new Error(`${id}: import.meta.${property} cannot be bundled; use import.meta.url`);
        return location;
      }),
    )
    .join(`new URL('./${converter.name}.js', import.meta.url)`);
}

/**
 * The messages of Temporal's protocol without those of its cloud's administration and of workers' native
 * code: half of them, which the command line would otherwise construct each time it runs.
 * @param {string} id
 */
function loadProtocol(id) {
  if (!id.endsWith(join('@temporalio', 'proto', 'protos', 'json-module.js'))) return undefined;
  const require = createRequire(id);
  const { Root, roots } = require('protobufjs/light');
  require(id);
  const messages = /** @type {Messages} */ (roots['__temporal']?.toJSON());
  const { temporal } = messages.nested ?? {};
  delete messages.nested?.['coresdk'];
  delete messages.nested?.['grpc']?.nested?.['gateway'];
  delete temporal?.nested?.['api']?.nested?.['cloud'];
  removeRoutes(messages);
  // Fails where a message that stays needs one that is gone.
  Root.fromJSON(structuredClone(messages)).resolveAll();
  const json = JSON.stringify(JSON.stringify(messages.nested));
  return `const protobuf = require('protobufjs/light');
module.exports = (protobuf.roots['__temporal'] ??= new protobuf.Root()).addJSON(JSON.parse(${json}));`;
}

/**
 * @typedef {{ nested?: Record<string, Messages>, methods?: Record<string, { options?: object, parsedOptions?:
 * object }> }} Messages
 */

/** Removes the HTTP routes of methods. @param {Messages} messages */
function removeRoutes({ nested = {}, methods = {} }) {
  for (const method of Object.values(methods)) {
    delete method.options;
    delete method.parsedOptions;
  }
  for (const inner of Object.values(nested)) removeRoutes(inner);
}
