import { execFile, type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from './free-port.js';
import { until } from './until.js';

const run = promisify(execFile);

// Debian keeps the server's programs off PATH.
const debian = '/usr/lib/postgresql';
const versions = existsSync(debian)
  ? readdirSync(debian).toSorted((one, other) => Number(other) - Number(one))
  : [];
const programs = versions
  .map((version) => join(debian, version, 'bin'))
  .find((path) => existsSync(join(path, 'initdb')));

/** Why there is no PostgreSQL to be started here; undefined where there is. */
export const noPostgres =
  programs === undefined ? 'no initdb in /usr/lib/postgresql: npm run setup:extras' : undefined;

/** The program that docs/reference/providers/service.md shows. */
export const postgresImage = fileURLToPath(new URL('../../examples/service/postgres-image', import.meta.url));

/** A PostgreSQL server with a database of each name. */
export interface PostgresService {
  /** As heddle.yaml has them. */
  readonly resources: readonly {
    readonly name: string;
    readonly environment: Readonly<Record<string, string>>;
  }[];
  /** Gives what a query printed. */
  readonly sql: (database: string, query: string) => Promise<string>;
  readonly down: () => Promise<void>;
  readonly up: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startPostgresService(names: readonly string[]): Promise<PostgresService> {
  if (programs === undefined) throw new Error(noPostgres);
  const bin = programs;
  const folder = await mkdtemp(join(tmpdir(), 'heddle-postgres-'));
  const [port = 0] = await freePorts(1);
  const data = join(folder, 'data');
  await mkdir(data, { mode: 0o700 });
  // PostgreSQL refuses to run as root.
  const asRoot = userInfo().uid === 0;
  if (asRoot) {
    await chmod(folder, 0o711);
    await run('chown', ['postgres', data]);
  }
  const prefix = asRoot
    ? ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--init-groups', '--']
    : [];
  const [initdb, ...words] = [
    ...prefix,
    join(bin, 'initdb'),
    '-D',
    join(data, 'cluster'),
    '-U',
    'heddle',
    '-A',
    'trust',
    '--no-sync',
    '--locale=C.UTF-8',
  ] as const;
  await run(initdb ?? '', words, { cwd: '/' });
  const environmentOf = (database: string) => ({
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    PGUSER: 'heddle',
    PGDATABASE: database,
  });
  const sql = async (database: string, query: string): Promise<string> =>
    (
      await run('psql', ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', query], {
        env: { PATH: '/usr/bin:/bin', ...environmentOf(database) },
      })
    ).stdout.trim();
  let server: ChildProcess | undefined;
  const up = async (): Promise<void> => {
    const [program, ...options] = [
      ...prefix,
      join(bin, 'postgres'),
      '-D',
      join(data, 'cluster'),
      '-h',
      '127.0.0.1',
      '-p',
      String(port),
      '-k',
      '',
      '-c',
      'fsync=off',
    ] as const;
    const log = openSync(join(folder, 'log'), 'a');
    server = spawn(program ?? '', options, { cwd: '/', stdio: ['ignore', log, log] });
    closeSync(log);
    await until('PostgreSQL answers', () =>
      sql('postgres', 'SELECT 1').then(
        () => true,
        () => false,
      ),
    );
  };
  const down = async (): Promise<void> => {
    const running = server;
    server = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const closed = once(running, 'exit');
    running.kill('SIGINT');
    await closed;
  };
  await up();
  for (const name of names) await sql('postgres', `CREATE DATABASE ${name}`);
  return {
    resources: names.map((name) => ({ name, environment: environmentOf(name) })),
    sql,
    up,
    down,
    async stop() {
      await down();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
