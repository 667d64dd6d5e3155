import type { PoolClient } from '../../client/pool/pool-client.js';
import { openKeys } from '../configuration.js';
import { formatCount } from '../format.js';
import { confirmGoOn, exportRecords, sealRecords, type ExportVerbOptions } from '../records.js';
import type { Session } from '../session.js';
import { poolVerb } from './pool-verb.js';

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
export const exportPool = poolVerb<[ExportVerbOptions], Answer>(
  (pool, session, options) =>
    options.cancel === true ? cancelExport(pool, options) : writeRecords(pool, session, options),
  {
    print: (output, answer) => {
      if ('cancelled' in answer) return output.line(`pool ${answer.pool} is resumed`);
      const { pool, nodes, requests } = answer;
      output.raw(JSON.stringify(answer));
      output.note(
        `pool ${pool} is exported with ${formatCount(nodes, 'node')} and ${formatCount(requests, 'request')}, and stopped`,
      );
      output.note('next: heddle pool restore FILE, with the other server and the same keys');
    },
  },
);

async function writeRecords(pool: PoolClient, session: Session, options: ExportVerbOptions): Promise<Answer> {
  const { name } = pool;
  const words = {
    rests: 'it creates, deletes and allocates nothing',
    waitsFor: (nodes: readonly string[]) => `waits for tasks of ${nodes.slice(0, 5).join(', ')}`,
  };
  const records = await exportRecords(session, 'pool', name, words, options, (how) => pool.export(how));
  return {
    pool: name,
    id: records.exported.id,
    nodes: Object.keys(records.carried.nodes).length,
    requests: Object.keys(records.carried.requests).length,
    records: sealRecords(openKeys(session.config), 'pool', records),
  };
}

async function cancelExport(pool: PoolClient, options: ExportVerbOptions): Promise<Answer> {
  await confirmGoOn('pool', pool.name, await pool.view(), 'machines', options);
  await pool.cancelExport();
  return { pool: pool.name, cancelled: true };
}
