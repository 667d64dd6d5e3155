import { openConnection } from '../../server/connect.js';
import { registerSearchAttributes } from '../../server/setup.js';
import { chooseServer, readConfiguration, type ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { reachServer } from '../reach-server.js';
import { localVerb } from '../verb.js';

/** Registers the search attributes on a server; may be repeated. */
export const setup = localVerb(
  async (options: ServerOptions) => {
    const config = readConfiguration(options);
    const choice = await chooseServer(config, options);
    const { address, namespace } = choice;
    const { location, serverVersion } = await reachServer(config, choice);
    const connection = openConnection(location);
    try {
      const { present, missing, problem } = await connection.withDeadline(Date.now() + 10_000, () =>
        registerSearchAttributes(connection, namespace),
      );
      if (problem !== undefined)
        throw new CliError('Refused', `search attributes ${missing.join(', ')} are missing: ${problem}`);
      return { address, namespace, serverVersion, searchAttributes: present };
    } finally {
      await connection.close();
    }
  },
  {
    print: (output, { address, namespace, serverVersion, searchAttributes }) =>
      output.line(
        `server ${address} (version ${serverVersion}), namespace ${namespace}: search attributes ${searchAttributes.join(', ')} are registered`,
      ),
  },
);
