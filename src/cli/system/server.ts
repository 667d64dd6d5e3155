import { registerSearchAttributes } from '../../server/setup.js';
import { Connection } from '@temporalio/client';
import { checkServer } from '../../server/check.js';
import { CliError, exitCodes } from '../errors.js';
import { chooseServer, readConfiguration, type ServerOptions } from '../configuration.js';
import { createOutput } from '../output.js';

/** Registers what Heddle needs on a server; may be repeated. */
export async function setup(options: ServerOptions): Promise<number> {
  const config = readConfiguration(options);
  const { address, namespace, dev } = await chooseServer(config, options);
  const location = { ...(dev === undefined ? config.temporal.connection : {}), address };
  const { serverVersion } = await checkServer(location);
  const connection = Connection.lazy(location);
  try {
    const { present, missing, problem } = await connection.withDeadline(Date.now() + 10_000, () =>
      registerSearchAttributes(connection, namespace),
    );
    if (problem !== undefined)
      throw new CliError('Refused', `search attributes ${missing.join(', ')} are missing: ${problem}`);
    const output = createOutput(options);
    output.line(
      `server ${address} (version ${serverVersion}), namespace ${namespace}: search attributes ${present.join(', ')} are registered`,
    );
    output.document({ address, namespace, serverVersion, searchAttributes: present });
    return exitCodes.ok;
  } finally {
    await connection.close();
  }
}
