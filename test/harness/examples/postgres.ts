import { authOf, readTarget } from '../../../src/cli/login.js';
import type { HeddleClient } from '../../../src/client/index.js';
import { exec } from '../../../src/ssh/exec.js';
import { createPool } from '../../../src/ssh/pool.js';
import { until } from '../until.js';

/** The servers of the PostgreSQL example, asked over SSH as an administrator on the nodes would. */
export interface Servers {
  nodes(): Promise<readonly string[]>;
  /** Lines of a query's answer; columns have `|` between them. */
  sql(node: string, query: string): Promise<readonly string[]>;
  /** The output of a line of the node's shell. */
  shell(node: string, line: string): Promise<string>;
  /** Ends a server behind Heddle's back, as a crash would. */
  crash(node: string): Promise<void>;
  /** Starts one that is down, behind Heddle's back. */
  revive(node: string): Promise<void>;
  startTimes(): Promise<readonly string[]>;
  /** Just these replicas stream from the primary, and each has its slot. */
  streamTo(...replicas: readonly string[]): Promise<void>;
  writeRows(): Promise<void>;
  /** As many rows as were ever written, and the same on all nodes. */
  haveAllRows(): Promise<void>;
  close(): Promise<void>;
}

export const primary = 'primary-1';
export const home = '/var/lib/postgresql/postgres';
const control = `cd / && runuser -u postgres -- /usr/lib/postgresql/*/bin/pg_ctl -w -D ${home}/data`;
const patienceMs = 60_000;

export function serversOf(client: HeddleClient, cluster: string): Servers {
  const pool = createPool();
  let rows = 0;
  const run = async (node: string, words: readonly string[]): Promise<string> => {
    const payload = await client.payload(cluster, node);
    const connection = await pool.acquire(readTarget(node, { payload, auth: authOf(payload) }));
    const { exitCode, stdout, stderr } = await exec(connection, words);
    if (exitCode !== 0) throw new Error(`${words.join(' ')} on ${node} ended with ${exitCode}: ${stderr}`);
    return stdout;
  };
  const shell = (node: string, line: string): Promise<string> => run(node, ['sh', '-c', line]);
  const sql = async (node: string, query: string): Promise<readonly string[]> => {
    const words = [
      'runuser',
      '-u',
      'postgres',
      '--',
      'psql',
      '-X',
      '-q',
      '-A',
      '-t',
      '-v',
      'ON_ERROR_STOP=1',
      '-d',
      'app',
      '-c',
      query,
    ];
    return (await run(node, words)).split('\n').filter((line) => line !== '');
  };
  const nodes = async (): Promise<readonly string[]> =>
    (await client.status(cluster)).nodes.map(({ nodeId }) => nodeId).toSorted();
  return {
    nodes,
    sql,
    shell,
    async crash(node) {
      await shell(node, `${control} -m immediate stop`);
    },
    async revive(node) {
      await shell(
        node,
        `${control} -l ${home}/postgres.log -o "-c config_file=${home}/conf/postgresql.conf" start`,
      );
    },
    async startTimes() {
      const times = (await nodes()).map(async (node) => sql(node, 'SELECT pg_postmaster_start_time()'));
      return (await Promise.all(times)).flat();
    },
    async streamTo(...replicas) {
      const query =
        'SELECT application_name, state, slot_name FROM pg_stat_replication FULL JOIN pg_replication_slots ON pid = active_pid ORDER BY slot_name';
      const wanted = replicas
        .map((replica) => `${replica}|streaming|heddle_${replica.replaceAll('-', '_')}`)
        .join('\n');
      await until(
        `${replicas.join(', ')} stream`,
        async () => (await sql(primary, query)).join('\n') === wanted,
        patienceMs,
      );
    },
    async writeRows() {
      await sql(primary, 'INSERT INTO note (text) SELECT md5(random()::text) FROM generate_series(1, 100)');
      rows += 100;
    },
    async haveAllRows() {
      const query = "SELECT count(*), md5(string_agg(text, ',' ORDER BY id)) FROM note";
      const [wanted = ''] = await sql(primary, query);
      if (wanted.split('|')[0] !== String(rows))
        throw new Error(`the primary has not the ${rows} rows that were written, but: ${wanted}`);
      for (const node of await nodes())
        await until(`all rows on ${node}`, async () => (await sql(node, query))[0] === wanted, patienceMs);
    },
    close: () => pool.closeAll(),
  };
}
