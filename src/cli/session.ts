import { Client, type Connection } from '@temporalio/client';
import { keyInUse, missingKey } from '../client/check-keys.js';
import { call } from '../client/call.js';
import { HeddleError } from '../client/errors.js';
import { HeddleClient } from '../client/heddle-client.js';
import { isPolled } from '../client/workers.js';
import type { Config } from '../config/index.js';
import { workflowQueue } from '../model/names.js';
import { MissingKeyError } from '../secrets/keys.js';
import { openConnection } from '../server/connect.js';
import { heddle } from '../temporal-plugin.js';
import { createOutput, type Output } from './output.js';
import { reachServer } from './reach-server.js';
import { chooseServer, openKeys, readConfiguration, type ServerOptions } from './configuration.js';

/** A client of a server that responds, for one verb. */
export interface Session {
  readonly output: Output;
  readonly config: Config;
  readonly client: HeddleClient;
  readonly temporal: Client;
  /** host:port of the server. */
  readonly address: string;
}

/**
 * Connects as configured and gives the client to a verb.
 * @throws ServerUnreachableError within 3 s, KeyError when there are no keys, ProblemsError for the
 * configuration.
 */
export async function withSession<Result>(
  options: ServerOptions,
  use: (session: Session) => Promise<Result>,
): Promise<Result> {
  const config = readConfiguration(options);
  const choice = await chooseServer(config, options);
  const { location, warning } = await reachServer(config, choice);
  if (warning !== undefined) process.stderr.write(`warning: ${warning}\n`);
  const connection = openConnection(location);
  try {
    await requireKeys({ connection, namespace: choice.namespace }, config);
    const temporal = temporalClient(connection, choice.namespace, config);
    const client = new HeddleClient(temporal);
    return await use({ output: createOutput(options), config, temporal, address: choice.address, client });
  } finally {
    await connection.close();
  }
}

/** @throws MissingKeyError that names the key in use and where it is, if there are no keys. */
async function requireKeys(
  server: { readonly connection: Connection; readonly namespace: string },
  config: Config,
): Promise<void> {
  try {
    openKeys(config);
  } catch (error) {
    const used = error instanceof MissingKeyError ? await keyInUse(server) : undefined;
    throw used === undefined ? error : new MissingKeyError(missingKey(server, used, config.keys.folder));
  }
}

/**
 * Fails when no worker polls. A worker that ended a moment ago is noticed later, when it does not answer.
 * @throws HeddleError NoWorker
 */
export async function requireWorker({ temporal, address }: Session): Promise<void> {
  const ask = (): Promise<boolean> => isPolled(temporal, workflowQueue, 'workflows');
  if (!(await call(temporal, 'workers', ask, { waitMs: 10_000 })))
    throw new HeddleError(
      'NoWorker',
      `no worker polls task queue "${workflowQueue}" of ${address}; start one with 'heddle worker' (or 'heddle dev'), then try again`,
    );
}

/** A client that reads and writes payloads as configured. @throws KeyError when there are no keys. */
export function temporalClient(connection: Connection, namespace: string, config: Config): Client {
  const plugin = heddle({
    keys: openKeys(config),
    namespace,
    onPlaintext: config.encryption === 'optional' ? 'pass' : undefined,
  });
  return new Client({ connection, namespace, plugins: [plugin] });
}
