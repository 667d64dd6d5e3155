import { Connection, type Client } from '@temporalio/client';
import { HeddleClient } from '../../client/heddle-client.js';
import { listMachineNames, listPools } from '../../client/list.js';
import { PoolClient } from '../../client/pool/pool-client.js';
import { chooseServer, locationOf, readConfiguration } from '../configuration.js';
import { temporalClient } from '../session.js';
import type { NameCandidates } from './candidates.js';

/** Names that a server knows. Sends no more requests than these need, and sends none again. */
export async function askServer({ of, within, options }: NameCandidates): Promise<readonly string[]> {
  const config = readConfiguration(options);
  const choice = await chooseServer(config, options);
  const connection = Connection.lazy({ ...locationOf(config, choice), interceptors: [] });
  const temporal = temporalClient(connection, choice.namespace, config);
  const client = new HeddleClient(temporal);
  switch (of) {
    case 'clusters':
      return (await client.list()).map(({ name }) => name);
    case 'pools':
      return (await listPools(temporal)).map(({ name }) => name);
    case 'labels':
      return labelsOf(temporal, within === undefined ? await listPools(temporal) : [{ name: within }]);
    case 'machines':
      return listMachineNames(temporal);
    case 'images':
      return (await client.images.list()).images.map(({ name }) => name);
    case 'reservations':
      return (await client.reservations.list()).map(({ id }) => id);
    case 'resources':
      return Object.keys(await client.resources.catalogue());
    case 'pool nodes':
      return within === undefined ? [] : (await new PoolClient(temporal, within).nodes()).map(({ id }) => id);
    case 'nodes':
    case 'services':
      return within === undefined ? [] : namesIn(client, within, of);
    case 'outputs':
      return within === undefined ? [] : Object.keys(await client.outputs(within));
    default:
      return [];
  }
}

async function labelsOf(
  temporal: Client,
  pools: readonly { readonly name: string }[],
): Promise<readonly string[]> {
  const views = await Promise.all(
    pools.map(({ name }) => new PoolClient(temporal, name).view().catch(() => ({ labels: {} }))),
  );
  return [...new Set(views.flatMap(({ labels }) => Object.keys(labels)))];
}

async function namesIn(
  client: HeddleClient,
  cluster: string,
  of: 'nodes' | 'services',
): Promise<readonly string[]> {
  const { nodes, services } = await client.status(cluster);
  return of === 'nodes' ? nodes.map(({ nodeId }) => nodeId) : Object.keys(services);
}
