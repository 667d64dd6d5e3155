import type { PoolClient } from '../../client/pool/pool-client.js';
import { openKeys, type ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { formatCount } from '../format.js';
import { sealRecords } from '../records.js';
import type { Session } from '../session.js';
import { confirm } from '../terminal.js';
import { untilInterrupted } from '../waiting.js';
import { poolVerb } from './pool-verb.js';

export interface ExportOptions extends ServerOptions {
  readonly cancel?: boolean;
  readonly yes?: boolean;
}

type Answer =
  | {
      readonly pool: string;
      readonly id: string;
      readonly nodes: number;
      readonly requests: number;
      readonly records: string;
    }
  | { readonly pool: string; readonly cancelled: true };

/** Stops a pool and writes its records for a move to another server or namespace. */
export const exportPool = poolVerb<[ExportOptions], Answer>(
  (pool, session, options) =>
    options.cancel === true ? cancelExport(pool, options) : writeRecords(pool, session, options),
  {
    print: (output, answer) => {
      if ('cancelled' in answer) return output.line(`pool ${answer.pool} goes on`);
      const { pool, nodes, requests } = answer;
      output.raw(JSON.stringify(answer));
      output.note(
        `pool ${pool} is exported with ${formatCount(nodes, 'node')} and ${formatCount(requests, 'request')}, and stopped`,
      );
      output.note('next: heddle pool restore FILE, with the other server and the same keys');
    },
  },
);

async function writeRecords(
  pool: PoolClient,
  { config, output }: Session,
  options: ExportOptions,
): Promise<Answer> {
  const { name } = pool;
  await confirm(
    `Export pool ${name}? It stops here: it creates, deletes and allocates nothing until it is restored elsewhere.`,
    options,
  );
  let noted = '';
  const records = await untilInterrupted(
    (signal) =>
      pool.export({
        signal,
        onWait: (nodes) => {
          const text = nodes.slice(0, 5).join(', ');
          if (text !== noted) output.note(`waits for tasks of ${text}`);
          noted = text;
        },
      }),
    `pool ${name} is stopped, and its export`,
    `heddle pool export ${name}`,
  );
  return {
    pool: name,
    id: records.exported.id,
    nodes: Object.keys(records.carried.nodes).length,
    requests: Object.keys(records.carried.requests).length,
    records: sealRecords(openKeys(config), 'a pool', records),
  };
}

async function cancelExport(pool: PoolClient, options: ExportOptions): Promise<Answer> {
  const { exported } = await pool.view();
  if (exported === undefined)
    throw new CliError('Refused', `pool ${pool.name} is not exported`, { next: 'heddle pool list' });
  await confirm(
    `Let pool ${pool.name} go on? Only if its records were restored nowhere: otherwise two pools have the same machines.`,
    options,
  );
  await pool.cancelExport();
  return { pool: pool.name, cancelled: true };
}
