import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/index.js';
import { prepareFolder } from '../../config/prepare-folder.js';
import { runProgram } from '../../config/run-program.js';
import { hasErrorCode } from '../../model/system-error.js';
import { readConfiguration, type CommonOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { inspectPlugins } from '../inspect-plugins.js';
import { createOutput } from '../output.js';
import { localVerb } from '../verb.js';

/** Names what a complete environment was made of; written last. */
const recordName = 'heddle-setup.json';

/**
 * Installs the Python packages of a plugin unless they are installed. The environment is renamed when it is
 * complete, so an interrupted installation starts again, and running workers never see an incomplete one.
 */
export const setup = localVerb(
  async (name: string, options: CommonOptions) => {
    const config = readConfiguration(options);
    const { file, text, packages } = await requirementsOf(name, config);
    const { pythonFolder = '' } = config.programs;
    const folder = join(pythonFolder, name);
    const record = JSON.stringify({ python: await findPython(config), requirements: text });
    if (readRecord(folder) === record) return { plugin: name, folder, packages, changed: false };
    prepareFolder(config.dataFolder);
    prepareFolder(pythonFolder);
    removeUnfinished(pythonFolder, name);
    const draft = join(pythonFolder, `${name}.new-${process.pid}`);
    const old = `${draft}-old`;
    try {
      createOutput(options).line(`installs ${packages.join(', ')} into ${folder}`);
      await runPython(config, ['-m', 'venv', draft], 'the virtual environment cannot be created');
      // The build script of a source distribution would run here.
      const install = ['install', '--no-input', '--disable-pip-version-check', '--only-binary', ':all:'];
      const pip = ['-I', '-m', 'pip', ...install, '--require-hashes', '-r', file];
      await runPython(config, pip, 'pip cannot install the packages', join(draft, 'bin', 'python3'));
      writeFileSync(join(draft, recordName), record);
      // Removal takes seconds, and running plugins use the environment: it is replaced first.
      if (existsSync(folder)) renameSync(folder, old);
      renameSync(draft, folder);
    } finally {
      for (const left of [draft, old]) rmSync(left, { recursive: true, force: true });
    }
    return { plugin: name, folder, packages, changed: true };
  },
  {
    print: (output, { folder, packages, changed }) =>
      output.line(`${packages.join(', ')}: ${changed ? 'installed in' : 'already in'} ${folder}`),
  },
);

interface Requirements {
  readonly file: string;
  readonly text: string;
  /** Such as requests==2.32.4. */
  readonly packages: readonly string[];
}

/** @throws CliError for a package without a hash: pip's message would not name the file. */
async function requirementsOf(name: string, config: Config): Promise<Requirements> {
  const registry = await inspectPlugins(config);
  const found = [...registry.providers(), ...registry.automators()].filter(
    ({ descriptor }) => descriptor.name === name,
  );
  if (found.length === 0)
    throw new CliError('NotFound', `plugin ${JSON.stringify(name)} does not exist`, {
      next: 'heddle plugins',
    });
  const [file] = found.flatMap(({ descriptor: { python }, folder }) =>
    python === undefined ? [] : [join(folder, python)],
  );
  if (file === undefined)
    throw new CliError('Usage', `plugin ${name} needs no setup: its descriptor names no Python packages`);
  if (!existsSync(file)) throw new CliError('Failed', `plugin ${name} has no file ${file}`);
  const text = readFileSync(file, 'utf8');
  const lines = text
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*/, '').trim());
  const requirements = lines.filter((line) => line !== '');
  const wrong = requirements.find(
    (line) => !/^[A-Za-z\d][^\s;]*==\S+(\s.*)?\s--hash=sha256:[\da-f]{64}\b/.test(line),
  );
  if (wrong !== undefined || requirements.length === 0)
    throw new CliError(
      'Failed',
      `${file}: ${wrong === undefined ? 'names no package' : `${wrong.split(/\s/, 1)[0]} has no version and hash (NAME==VERSION --hash=sha256:…)`}; make the file with uv pip compile --generate-hashes, or pip-compile --generate-hashes`,
    );
  return { file, text, packages: requirements.map((line) => line.split(/\s/, 1)[0] ?? '') };
}

/** The version of the Python that programs run with. @throws CliError if it cannot be used. */
async function findPython(config: Config): Promise<string> {
  const about = 'import sys; print(sys.version.split()[0], sys.version_info >= (3, 10))';
  const [version = '', isNew] = (await runPython(config, ['-I', '-c', about], 'it cannot be run')).split(' ');
  if (isNew !== 'True') throw new CliError('Failed', `python3 is ${version}, but 3.10 or newer is required`);
  const modules = 'it lacks a module for environments; on Debian: apt-get install python3-venv';
  await runPython(config, ['-I', '-c', 'import venv, ensurepip'], modules);
  return version;
}

/** Runs Python. @throws CliError with the program's last line. */
async function runPython(
  { environment }: Config,
  words: readonly string[],
  otherwise: string,
  program = 'python3',
): Promise<string> {
  const pass = Object.keys(environment).filter((name) => passed.test(name));
  const { stdout, failure } = await runProgram(program, words, { environment: { from: environment, pass } });
  if (failure === undefined) return stdout.trimEnd();
  if (failure.code === 'ENOENT')
    throw new CliError(
      'Failed',
      'python3 is not on PATH. Install Python 3.10 or newer; on Debian: apt-get install python3-venv',
    );
  throw new CliError('Failed', `python3: ${otherwise}: ${failure.why}`);
}

/** What pip reads of the environment, besides its own files. */
const passed = /^(PIP_\w+|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|TMPDIR)$/i;

function readRecord(folder: string): string | undefined {
  const file = join(folder, recordName);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** Removes what killed commands left: drafts `NAME.new-PID` and replaced environments `NAME.new-PID-old`. */
function removeUnfinished(pythonFolder: string, name: string): void {
  const begins = `${name}.new-`;
  for (const entry of readdirSync(pythonFolder)) {
    if (!entry.startsWith(begins) || isRunning(Number.parseInt(entry.slice(begins.length), 10))) continue;
    rmSync(join(pythonFolder, entry), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return hasErrorCode(error, 'EPERM');
  }
}
