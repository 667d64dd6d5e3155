import { PoolClient } from '../../client/pool/pool-client.js';
import type { CarriedPool } from '../../model/pool/carry.js';
import { openKeys, type ServerOptions } from '../configuration.js';
import { formatCount } from '../format.js';
import { readRecords } from '../records.js';
import { verb } from '../verb.js';

/** Starts a pool with the records that `pool export` wrote. */
export const restore = verb(
  async ({ temporal, config }, file: string, _options: ServerOptions) => {
    const records = readRecords<CarriedPool>(file, 'pool', openKeys(config));
    const { name, nodes, requests } = records.carried;
    const { unchanged } = await new PoolClient(temporal, name).restore(records);
    return {
      pool: name,
      id: records.exported.id,
      nodes: Object.keys(nodes).length,
      requests: Object.keys(requests).length,
      unchanged,
    };
  },
  {
    worker: true,
    print: (output, { pool, nodes, requests, unchanged }) => {
      const content = `${formatCount(nodes, 'node')} and ${formatCount(requests, 'request')}`;
      output.line(`pool ${pool} ${unchanged ? 'was already' : 'is'} restored with ${content}`);
      output.line('next: heddle pool apply FILE, with the accounts of these workers');
    },
  },
);
