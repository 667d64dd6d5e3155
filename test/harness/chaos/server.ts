import { join } from 'node:path';
import { heddleSearchAttributes } from '../../../src/server/setup.js';
import { startServer, type RunningServer } from '../../../src/server/start.js';

/** A Temporal server that can be killed and comes back with what it had stored. */
export interface MortalServer {
  readonly address: string;
  /** Where everything is that it stores and logs. */
  readonly folder: string;
  /** SIGKILL, then a start on the same port; resolves when it answers. */
  killAndStart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * The embedded server, on SQLite.
 * @param runEvents events after which a workflow continues as new; few, so that clusters do so many times
 */
export async function startOnSqlite(parent: string, binary: string, runEvents = 300): Promise<MortalServer> {
  const folder = join(parent, 'server');
  const start = (port: number): Promise<RunningServer> =>
    startServer({
      binary,
      dataFolder: folder,
      port,
      ui: false,
      searchAttributes: heddleSearchAttributes,
      say: () => undefined,
      dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': runEvents },
    });
  let server = await start(0);
  const { address } = server;
  return {
    address,
    folder,
    async killAndStart() {
      process.kill(server.pid, 'SIGKILL');
      await server.stop();
      server = await start(Number(address.split(':')[1]));
    },
    stop: () => server.stop(),
  };
}
