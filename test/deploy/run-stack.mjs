// @ts-check
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../dist/config/index.js';
import { findBinary } from '../../dist/server/find-binary.js';
import { readCompose, readEnvFile } from './compose-file.mjs';
import { lastWords, run, start, stopAll, waitFor } from './processes.mjs';
import { useStack } from './use-stack.mjs';

/**
 * Runs the container stack without containers: every service of docker-compose.yml with its own command,
 * environment, mounted files and health check, as a process on loopback, on the system's own PostgreSQL. Only
 * paths, ports and host names differ. Installs nothing; what it starts it ends, and what it writes it
 * removes.
 *
 *   node test/deploy/run-stack.mjs --servers FOLDER     FOLDER as test/deploy/build-servers.sh makes it
 */
const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const { values } = parseArgs({ options: { servers: { type: 'string' } } });
const config = loadConfig({ cwd: '/' });
let checks = 0;
/**
 * Temporal keeps ports of members in a column of 16 bits with sign, which those that the system hands out do
 * not fit.
 */
let nextPort = 20_000 + (process.pid % 1_000) * 12;

/** @param {string} line */
const say = (line) => process.stdout.write(`stack: ${line}\n`);
/** @param {string} line */
const passed = (line) => {
  checks += 1;
  say(`ok  ${line}`);
};

process.once('SIGINT', stopEarly).once('SIGTERM', stopEarly);
const folder = mkdtempSync(join(tmpdir(), 'heddle-stack-'));
try {
  await main();
  say(`${checks} passed, 0 failed`);
} catch (error) {
  say(`not ok  ${error instanceof Error ? error.message : String(error)}\n${lastWords()}`);
  say(`${checks} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await stopAll();
  checkLeftovers();
  rmSync(folder, { recursive: true, force: true });
}

async function main() {
  const programs = await findPrograms();
  const rewrite = await makeRewrite();
  spawnSync('/usr/bin/env', ['cp', '-r', join(root, 'deploy'), join(folder, 'deploy')]);
  await run([join(folder, 'deploy', 'make-env.sh')], { cwd: folder });
  const secrets = readEnvFile(join(folder, '.env'));
  passed('deploy/make-env.sh makes the secrets');
  const services = readCompose(root, join(folder, '.env'));

  /** What a service is here. @param {string} name @param {Readonly<Record<string, string>>} [more] */
  const here = (name, more = {}) => {
    const service = services[name];
    if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
    const targets = service.mounts.map(
      ({ source, target }) => /** @type {const} */ ([target, place(source, rewrite)]),
    );
    /** @param {string} text */
    const local = (text) =>
      rewrite(targets.reduce((done, [target, path]) => done.replaceAll(target, path), text));
    const environment = Object.fromEntries(
      Object.entries(service.environment).map(([key, value]) => [key, local(value)]),
    );
    return {
      words: service.command.map(local),
      check: service.healthcheck?.map(local),
      options: {
        cwd: root,
        environment: { ...environment, ...more, PATH: programs.path },
        logFile: join(folder, `${name}.log`),
      },
    };
  };
  /**
   * @param {string} name
   * @param {readonly string[]} [words]
   * @param {Readonly<Record<string, string>>} [more]
   */
  const bringUp = async (name, words, more) => {
    const { words: own, check, options } = here(name, more);
    const one = start(name, words ?? own, options);
    say(`    ${name} is process ${one.pid}: ${(words ?? own).join(' ').slice(0, 100)}`);
    const missing =
      check !== undefined && !existsOnPath(check[0] ?? '', programs.path) ? check[0] : undefined;
    if (missing === undefined && check !== undefined) {
      await waitFor(
        `the health check of ${name}`,
        () => run(check, options),
        () => {
          if (one.ended()) throw new Error(`${name} ended:\n${one.tail()}`);
        },
      );
    }
    if (missing !== undefined)
      passed(`${name} started; its health check is not run, for there is no ${missing} here`);
    else passed(`${name} ${check === undefined ? 'started' : 'is healthy'}`);
    return one;
  };
  /** @param {string} name */
  const runOnce = async (name) => {
    const { words, options } = here(name);
    const output = await run(words, options);
    passed(`${name} ended well`);
    return output;
  };

  await startPostgres(programs.postgres, secrets, rewrite, bringUp);
  await runOnce('temporal-schema');
  await runOnce('temporal-schema');
  let server = await bringUp('temporal');
  await runOnce('temporal-namespace');
  await runOnce('temporal-namespace');
  await bringUp('temporal-ui', startUi(programs.servers));
  for (const name of ['codec-server', 'machines', 'worker']) await bringUp(name);
  await useStack({
    here,
    rewrite,
    secrets,
    passed,
    restartServer: async () => {
      await server.kill('SIGKILL');
      server = await bringUp('temporal');
    },
  });
}

/** @returns {Promise<{ servers: string, postgres: string, path: string }>} */
async function findPrograms() {
  const missing = [];
  const servers = resolve(values.servers ?? join(config.cacheFolder, 'servers'));
  for (const name of ['temporal-server', 'temporal-sql-tool', 'ui-server', 'ui/config/docker.yaml']) {
    if (!existsSync(join(servers, name)))
      missing.push(`${name} in ${servers}: test/deploy/build-servers.sh ${servers} builds it`);
  }
  // Debian keeps them off PATH.
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : [];
  const places = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(config.environment['PATH'] ?? '').split(':'),
  ];
  const postgres = places.find(
    (path) => existsSync(join(path, 'initdb')) && existsSync(join(path, 'postgres')),
  );
  if (postgres === undefined)
    missing.push("PostgreSQL's initdb and postgres: on Debian, apt-get install postgresql");
  if (!existsSync(join(root, 'dist', 'workflow-bundle.js'))) missing.push('dist/: npm run build');
  const { environment } = config;
  const found = await findBinary({
    temporalCli: environment['TEMPORAL_CLI'],
    path: environment['PATH'],
    cacheFolder: config.cacheFolder,
    say,
  }).catch(() => undefined);
  if (found === undefined) missing.push('the Temporal CLI: node tools/get-temporal.mjs');
  if (postgres === undefined || found === undefined || missing.length > 0)
    throw new Error(`this is missing here:\n  - ${missing.join('\n  - ')}`);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(found.path, join(bin, 'temporal'));
  symlinkSync(join(root, 'bin', 'heddle.mjs'), join(bin, 'heddle'));
  return { servers, postgres, path: [bin, servers, postgres, environment['PATH'] ?? ''].join(':') };
}

/**
 * Other ports, loopback instead of all addresses and of the names of containers.
 * @returns {Promise<(text: string) => string>}
 */
async function makeRewrite() {
  const taken = [
    '5432',
    '7233',
    '7234',
    '7235',
    '7239',
    '6933',
    '6934',
    '6935',
    '6939',
    '7300',
    '8080',
    '8081',
  ];
  /** @type {Record<string, string>} */
  const ports = {};
  for (const port of taken) ports[port] = await freePort();
  const anyPort = new RegExp(`(?<![\\d.])(?:${taken.join('|')})(?!\\d)`, 'g');
  return (text) =>
    text
      .replaceAll('0.0.0.0', '127.0.0.1')
      .replace(/\btemporal:7233/, '127.0.0.1:7233')
      .replace(/^postgresql$/, '127.0.0.1')
      .replaceAll('172.31.253.2', '127.0.0.1')
      .replaceAll('//machines:', '//127.0.0.1:')
      .replaceAll(anyPort, (port) => ports[port] ?? port);
}

/** @returns {Promise<string>} */
async function freePort() {
  for (;;) {
    const port = nextPort;
    nextPort += 1;
    const probe = createServer().listen(port, '127.0.0.1');
    const free = await new Promise((done) =>
      probe.once('listening', () => done(true)).once('error', () => done(false)),
    );
    if (!free) continue;
    await new Promise((done) => probe.close(done));
    return String(port);
  }
}

/**
 * A mounted file with our ports and paths in it; a folder of ours for a volume.
 * @param {string} source
 * @param {(text: string) => string} rewrite
 */
function place(source, rewrite) {
  if (source === '.') return root;
  const path = join(folder, 'mounts', source);
  if (!source.startsWith('.')) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }
  if (!existsSync(path)) {
    mkdirSync(join(path, '..'), { recursive: true });
    const inside = readFileSync(join(root, source), 'utf8')
      .replaceAll('/etc/temporal/', `${join(folder, 'mounts', 'deploy', 'temporal')}/`)
      .replaceAll('/var/lib/heddle-machines', join(folder, 'mounts', 'machines'))
      .replaceAll('/var/lib/heddle', join(folder, 'mounts', 'heddle'));
    writeFileSync(path, rewrite(inside));
  }
  return path;
}

/**
 * The entrypoint of the Web UI's image, with the image's configuration; there it listens on all addresses.
 * @param {string} servers
 */
function startUi(servers) {
  const written = readFileSync(join(servers, 'ui', 'config', 'docker.yaml'), 'utf8');
  mkdirSync(join(folder, 'ui', 'config'), { recursive: true });
  writeFileSync(join(folder, 'ui', 'config', 'docker.yaml'), `${written}\nhost: 127.0.0.1\n`);
  return ['ui-server', '--root', join(folder, 'ui'), '--env', 'docker', 'start'];
}

/**
 * The image makes its database from POSTGRES_USER and POSTGRES_PASSWORD; so do we. PostgreSQL refuses to run
 * as root.
 * @param {string} postgres
 * @param {Readonly<Record<string, string>>} secrets
 * @param {(text: string) => string} rewrite
 * @param {(name: string, words: readonly string[], more: Readonly<Record<string, string>>) =>
 * Promise<unknown>} bringUp
 */
async function startPostgres(postgres, secrets, rewrite, bringUp) {
  const data = join(folder, 'postgresql');
  mkdirSync(data, { mode: 0o700 });
  const password = join(data, 'password');
  writeFileSync(password, secrets['POSTGRES_PASSWORD'] ?? '', { mode: 0o600 });
  const asRoot = userInfo().uid === 0;
  if (asRoot) {
    chmodSync(folder, 0o711);
    await run(['chown', '-R', 'postgres', data], { cwd: '/' });
  }
  const prefix = asRoot ? ['runuser', '-u', 'postgres', '--'] : [];
  const cluster = ['-D', join(data, 'data')];
  await run(
    [
      ...prefix,
      join(postgres, 'initdb'),
      ...cluster,
      '-U',
      'temporal',
      `--pwfile=${password}`,
      '-A',
      'scram-sha-256',
    ],
    { cwd: '/' },
  );
  const port = rewrite('5432');
  await bringUp(
    'postgresql',
    [...prefix, join(postgres, 'postgres'), ...cluster, '-h', '127.0.0.1', '-p', port, '-k', data],
    { PGPORT: port },
  );
}

/** @param {string} program @param {string} path */
function existsOnPath(program, path) {
  return path.split(':').some((place) => existsSync(join(place, program)));
}

/** Nothing that was started with our folder may be left. */
function checkLeftovers() {
  if (!existsSync('/proc/self/cmdline')) return;
  const left = readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        Number(pid) !== process.pid &&
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)
      );
    } catch {
      return false;
    }
  });
  if (left.length === 0) return;
  say(`not ok  these processes are left: ${left.join(', ')}`);
  process.exitCode = 1;
}

/** @param {NodeJS.Signals} signal */
async function stopEarly(signal) {
  say(`${signal}: ends what was started`);
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
  process.exit(130);
}
