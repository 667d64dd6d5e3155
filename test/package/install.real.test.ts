import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { loadConfig } from '../../src/config/index.js';
import { newFolder } from '../harness/folder.js';
import { processesWith } from '../harness/processes.js';
import { until } from '../harness/until.js';

const root = join(import.meta.dirname, '../..');
const tool = <Module>(name: string): Promise<Module> =>
  import(pathToFileURL(join(root, 'tools', name)).href) as Promise<Module>;
const { nodeReleases, nodeProgram } = await tool<{
  readonly nodeReleases: readonly string[];
  readonly nodeProgram: (release: string) => string;
}>('node-releases.mjs');
const { pack } = await tool<{ readonly pack: (folder: string) => Promise<string> }>('pack.mjs');

const run = promisify(execFile);
/** npm is a program of the Node on PATH, and has to run with another one. */
const npm = realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim());
const spec = `name: hello
nodes: {app: {count: 2, provider: local, services: [hello]}}
services: {hello: {actions: {install: {type: shell, fields: {script: 'echo hello >"$HOME/hello"'}}}}}
`;

describe.skipIf(!nodeReleases.every((release) => existsSync(nodeProgram(release))))('the package', () => {
  let file = '';
  beforeAll(async () => {
    file = await pack(newFolder());
  });

  for (const release of nodeReleases) {
    test(`runs a cluster on Node ${release} after npm install --global`, async () => {
      const user = newUser(release);
      const prefix = join(user.home, 'prefix');
      await user.npm('install', '--global', '--prefix', prefix, file);
      const program = join(prefix, 'bin', 'heddle');
      expect((await user.run(program, '--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
      await expectCluster(user, [program]);
    });
  }

  test('runs a cluster by npx, without an installation', async () => {
    const user = newUser(nodeReleases.at(-1) ?? '');
    const npx = join(dirname(npm), 'npx-cli.js');
    await expectCluster(user, [user.node, npx, '--yes', `--package=${file}`, 'heddle']);
  });
});

interface User {
  readonly home: string;
  readonly node: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly npm: (...words: readonly string[]) => Promise<unknown>;
  readonly run: (
    program: string,
    ...words: readonly string[]
  ) => Promise<{ readonly stdout: string; readonly stderr: string }>;
}

/** A user with an empty home. What npm downloaded for others of this machine is not downloaded again. */
function newUser(release: string): User {
  const home = newFolder();
  const node = nodeProgram(release);
  const settings = Object.entries(loadConfig().environment).filter(
    ([name]) => !/^(?:npm_|NODE_OPTIONS|HEDDLE_|TEMPORAL_|XDG_|VITEST)/i.test(name),
  );
  const cache = join(home, 'npm-cache');
  const shared = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim();
  mkdirSync(join(shared, '_cacache'), { recursive: true });
  mkdirSync(cache);
  symlinkSync(join(shared, '_cacache'), join(cache, '_cacache'));
  const environment = {
    ...Object.fromEntries(settings),
    HOME: home,
    PATH: `${dirname(node)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
    TEMPORAL_CLI: inject('temporalBinary'),
    npm_config_cache: cache,
    npm_config_update_notifier: 'false',
  };
  const start: User['run'] = (program, ...words) =>
    run(program, words, { cwd: home, env: environment, timeout: 240_000, maxBuffer: 2 ** 26 });
  return { home, node, environment, run: start, npm: (...words) => start(node, npm, ...words) };
}

/** `heddle dev` is ready within a minute, a cluster comes and goes, and nothing is left. */
async function expectCluster(user: User, [program = '', ...first]: readonly string[]): Promise<void> {
  writeFileSync(join(user.home, 'hello.yaml'), spec);
  const heddle = (...words: readonly string[]) => user.run(program, ...first, ...words);
  const version = await heddle('--version');
  const words = [...first, 'dev', '--port', '0', '--ui-port', '0', '--machines', 'directory'];
  const dev = spawn(program, words, { cwd: user.home, env: user.environment, detached: true });
  const ended = once(dev, 'close');
  const output = { out: '', err: '' };
  dev.stdout.setEncoding('utf8').on('data', (text: string) => (output.out += text));
  dev.stderr.setEncoding('utf8').on('data', (text: string) => (output.err += text));
  try {
    const ready = (): boolean => {
      if (dev.exitCode !== null) throw new Error(`heddle dev ended:\n${output.out}${output.err}`);
      return output.out.includes('next, in another terminal');
    };
    await until('heddle dev to be ready', ready, 60_000);
    const applied = await heddle('apply', 'hello.yaml');
    expect(applied.stdout).toContain('hello matches its file: 2 nodes');
    expect((await heddle('exec', 'hello', '--', 'cat', 'hello')).stdout).toContain('hello');
    await heddle('delete', 'hello', '--yes');
    for (const text of [version.stderr, applied.stderr, output.err, ...logsIn(user.home)])
      expect(text).not.toMatch(/Warning:/);
  } finally {
    if (dev.pid !== undefined && dev.exitCode === null) process.kill(-dev.pid, 'SIGINT');
    await ended;
  }
  expect(output.err).toContain('stopped; clusters continue when heddle dev is started again');
  await until('no process to be left', () => processesWith(user.home).length === 0, 10_000);
}

/** What the processes of `heddle dev` wrote. */
function logsIn(home: string): readonly string[] {
  const folder = join(home, '.local/share/heddle/logs');
  return ['worker.log', 'machines.log'].map((name) => readFileSync(join(folder, name), 'utf8'));
}
