import type { HeddleClient } from '../../../src/client/index.js';
import { authOf, readTarget } from '../../../src/cli/ssh-target.js';
import { exec } from '../../../src/ssh/exec.js';
import { createPool } from '../../../src/ssh/pool.js';

/** The PostgreSQL servers of a cluster, asked over SSH as an administrator on the node would. */
export interface Servers {
  /** Lines of a query's answer; columns have `|` between them. */
  sql(node: string, query: string): Promise<readonly string[]>;
  /** The output of a command line of the node's shell. */
  shell(node: string, line: string): Promise<string>;
  close(): Promise<void>;
}

export function serversOf(client: HeddleClient, cluster: string): Servers {
  const pool = createPool();
  const run = async (node: string, words: readonly string[]): Promise<string> => {
    const payload = await client.payload(cluster, node);
    const connection = await pool.acquire(readTarget(node, payload, authOf(payload)));
    const { exitCode, stdout, stderr } = await exec(connection, words);
    if (exitCode !== 0) throw new Error(`${words.join(' ')} on ${node} ended with ${exitCode}: ${stderr}`);
    return stdout;
  };
  return {
    async sql(node, query) {
      const words = ['runuser', '-u', 'postgres', '--', 'psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', 'app', '-c', query];
      return (await run(node, words)).split('\n').filter((line) => line !== '');
    },
    shell: (node, line) => run(node, ['sh', '-c', line]),
    close: () => pool.closeAll(),
  };
}
