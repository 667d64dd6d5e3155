import { execFile, type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { msToTs } from '@temporalio/common/lib/time.js';
import { Connection } from '@temporalio/client';
import { loadConfig } from '../../../src/config/index.js';
import { freePorts } from '../free-port.js';
import { until } from '../until.js';
import type { MortalServer } from './server.js';

export interface PostgresPrograms {
  /** Folder of initdb and postgres. */
  readonly postgres: string;
  /** Folder of temporal-server and temporal-sql-tool, as test/deploy/build-servers.sh makes it. */
  readonly servers: string;
}

const run = promisify(execFile);
const deploy = fileURLToPath(new URL('../../../deploy/temporal', import.meta.url));

/** Where the programs are, or what is missing. */
export function findPostgres(): PostgresPrograms | { readonly missing: string } {
  const servers = join(loadConfig({ cwd: '/' }).cacheFolder, 'servers');
  // Debian keeps them off PATH.
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian)
    ? readdirSync(debian).toSorted((one, other) => Number(other) - Number(one))
    : [];
  const postgres = versions
    .map((version) => join(debian, version, 'bin'))
    .find((path) => existsSync(join(path, 'initdb')));
  if (postgres === undefined) return { missing: 'no initdb in /usr/lib/postgresql: npm run setup:extras' };
  if (!existsSync(join(servers, 'temporal-server')))
    return { missing: `no temporal-server: test/deploy/build-servers.sh ${servers}` };
  return { postgres, servers };
}

/** Temporal's server as docker-compose.yml has it, on a PostgreSQL of its own. PostgreSQL is not killed. */
export async function startOnPostgres(
  parent: string,
  { postgres, servers }: PostgresPrograms,
): Promise<MortalServer> {
  const folder = join(parent, 'server');
  await mkdir(folder);
  const ports = await freePorts(9);
  const [sqlPort = 0, ...rest] = ports;
  const database = await startDatabase(folder, postgres, sqlPort);
  const environment = {
    PATH: `${servers}:/usr/bin:/bin`,
    SQL_PLUGIN: 'postgres12',
    SQL_HOST: '127.0.0.1',
    SQL_PORT: String(sqlPort),
    SQL_USER: 'temporal',
    SQL_PASSWORD: 'temporal',
  };
  await run('sh', [join(deploy, 'setup-schema.sh')], { env: environment });
  const config = join(folder, 'server.yaml');
  await writeFile(config, await serverConfig(rest));
  const address = `127.0.0.1:${rest[0]}`;
  const start = async (): Promise<ChildProcess> => {
    const log = openSync(join(folder, 'temporal.log'), 'a');
    const child = spawn(join(servers, 'temporal-server'), ['start'], {
      env: { ...environment, TEMPORAL_SERVER_CONFIG_FILE_PATH: config, TEMPORAL_ALLOW_NO_AUTH: 'true' },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    await until('Temporal on PostgreSQL answers', () => answers(address));
    return child;
  };
  let server = await start();
  return {
    address,
    folder,
    async killAndStart() {
      await end(server, 'SIGKILL');
      server = await start();
    },
    async stop() {
      await end(server, 'SIGTERM');
      await end(database, 'SIGINT');
    },
  };
}

/** The file of deploy/, on our ports. */
async function serverConfig(ports: readonly number[]): Promise<string> {
  const written = ['7233', '7234', '7235', '7239', '6933', '6934', '6935', '6939'];
  const text = written.reduce(
    (done, port, index) => done.replaceAll(port, String(ports[index])),
    await readFile(join(deploy, 'server.yaml'), 'utf8'),
  );
  return text.replaceAll('/etc/temporal/', `${deploy}/`);
}

/** PostgreSQL refuses to run as root. */
async function startDatabase(folder: string, postgres: string, port: number): Promise<ChildProcess> {
  const data = join(folder, 'postgresql');
  await mkdir(data, { mode: 0o700 });
  const password = join(data, 'password');
  await writeFile(password, 'temporal', { mode: 0o600 });
  const asRoot = userInfo().uid === 0;
  if (asRoot) {
    for (const above of [join(folder, '..'), folder]) await chmod(above, 0o711);
    await run('chown', ['-R', 'postgres', data]);
  }
  const prefix = asRoot
    ? ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--init-groups', '--']
    : [];
  const cluster = ['-D', join(data, 'data')];
  const [program, ...words] = [
    ...prefix,
    join(postgres, 'initdb'),
    ...cluster,
    '-U',
    'temporal',
    `--pwfile=${password}`,
    '-A',
    'scram-sha-256',
  ];
  await run(program, words, { cwd: '/' });
  const [server, ...options] = [
    ...prefix,
    join(postgres, 'postgres'),
    ...cluster,
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    '-k',
    data,
  ];
  const log = openSync(join(folder, 'postgresql.log'), 'a');
  const child = spawn(server, options, { cwd: '/', stdio: ['ignore', log, log] });
  closeSync(log);
  await until('PostgreSQL answers', async () =>
    run(join(postgres, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]).then(
      () => true,
      () => false,
    ),
  );
  return child;
}

/** Whether the server takes calls; makes the namespace `default` where it is missing. */
async function answers(address: string): Promise<boolean> {
  const connection = Connection.lazy({ address, interceptors: [] });
  try {
    return await connection.withDeadline(Date.now() + 3_000, async () => {
      await connection.workflowService
        .registerNamespace({ namespace: 'default', workflowExecutionRetentionPeriod: msToTs('1 day') })
        .catch(() => undefined);
      await connection.workflowService.listOpenWorkflowExecutions({
        namespace: 'default',
        maximumPageSize: 1,
      });
      return true;
    });
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'exit');
  child.kill(signal);
  await closed;
}
