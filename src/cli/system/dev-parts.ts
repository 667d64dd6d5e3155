import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../config/index.js';
import { startCodecServer, type CodecServer } from '../../secrets/codec-server.js';
import { openKeyRing } from '../../secrets/keys.js';
import { readLogTail } from '../../server/launch.js';
import { markOf, type ProcessMark } from '../../detached/process-mark.js';
import { heddleSearchAttributes } from '../../server/setup.js';
import { startServer, type RunningServer } from '../../server/start.js';
import { startAccountsPage } from '../account/page/server.js';
import type { Workspace } from '../account/workspace.js';
import type { ConfigOutcome } from '../../worker/follow-config.js';
import { openKeys } from '../configuration.js';
import { writeWorkerConfig } from './dev-config.js';
import type { DevRecord } from './dev-record.js';
import { startMachines } from './dev-machines.js';
import { startDevWorker } from './dev-worker.js';

export interface DevOptions {
  readonly port: number;
  readonly uiPort?: number;
  readonly machines: 'auto' | 'sandbox' | 'directory';
  readonly say: (line: string) => void;
  /** Where the page for provider accounts writes to. */
  readonly openWorkspace: () => Promise<Workspace>;
  /** A sentence about what uses an account, for that page. */
  readonly describeUsers: (account: string) => Promise<string>;
  /** Called when the record has changed: a part was restarted. */
  readonly onChange: () => void;
  /** Called when the machine service was restarted, and its machines boot. */
  readonly onMachinesBack: () => void;
  /** Called when the worker applied a changed configuration, or refused it. */
  readonly onConfigured: (outcome: ConfigOutcome) => void;
}

/** All that runs, in the order it was started. */
export interface DevParts {
  /** Where everything is now. */
  readonly record: () => Promise<Omit<DevRecord, 'owner'>>;
  /** What the machines are: `sandbox` or `directory`. */
  readonly machineKind: string;
  /** Settles when the server ends unexpectedly, with the way it ended. */
  readonly serverEnded: Promise<string>;
  readonly serverLogTail: () => Promise<string>;
  /** Gives the worker a changed configuration, which it applies. */
  readonly configure: (changed: Config) => Promise<void>;
  readonly restartWorker: () => Promise<void>;
  /** Stops all, the last started first. */
  readonly stop: () => Promise<void>;
}

/** @throws Error that names the part that did not start, after stopping the others. */
export async function startParts(config: Config, binary: string, options: DevOptions): Promise<DevParts> {
  const running: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of running.splice(0).toReversed()) await end();
  };
  try {
    const { server, codec } = await startServerAndCodec(config, binary, options, running);
    const upkeep = { logFolder: join(config.dataFolder, 'logs'), say: options.say, onBack: options.onChange };
    const machines = await startMachines({
      ...upkeep,
      onBack: () => {
        options.onChange();
        options.onMachinesBack();
      },
      folder: join(config.dataFolder, 'machines'),
      kind: options.machines,
    });
    running.push(machines.stop);
    const workerConfig = await writeWorkerConfig(config, machines);
    const worker = await startDevWorker({
      ...upkeep,
      config,
      configFile: workerConfig,
      address: server.address,
      namespace: server.namespace,
      onConfigured: options.onConfigured,
    });
    running.push(worker.stop);
    const accounts = await startAccountsPage({ open: options.openWorkspace, usersOf: options.describeUsers });
    running.push(() => accounts.stop());
    const { address, namespace, uiAddress: ui = '' } = server;
    const { endpoint, apiKeyFile } = machines;
    return {
      record: async () => ({
        address,
        namespace,
        ui,
        codecEndpoint: codec.url,
        accounts: accounts.url,
        workerConfig,
        machines: { endpoint, apiKeyFile },
        processes: {
          server: await findProcess(server.pid),
          machines: await findProcess(machines.pid()),
          worker: await findProcess(worker.pid()),
        },
      }),
      machineKind: machines.kind,
      configure: async (changed) => void (await writeWorkerConfig(changed, machines)),
      restartWorker: worker.restart,
      stop,
      serverEnded: server.ended,
      serverLogTail: () => readLogTail(server.logFile),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A process that has just ended is recorded as never started. */
async function findProcess(pid: number): Promise<ProcessMark> {
  return (await markOf(pid)) ?? { pid, started: 'gone' };
}

/**
 * The Web UI does not get the codec server's address: its settings are readable without login.
 * The user enters it.
 */
async function startServerAndCodec(
  config: Config,
  binary: string,
  { port, uiPort, say }: DevOptions,
  running: (() => Promise<void>)[],
): Promise<{ readonly server: RunningServer; readonly codec: CodecServer }> {
  // The server is new and belongs to this data folder, so a key may be created.
  const keyRing =
    config.exportedKeys === undefined
      ? openKeyRing({ folder: config.keys.folder, create: true })
      : openKeys(config);
  const server = await startServer({
    binary,
    dataFolder: join(config.dataFolder, 'server'),
    port,
    searchAttributes: heddleSearchAttributes,
    say,
    uiPort,
  });
  running.push(() => server.stop());
  const { namespace, uiAddress } = server;
  const codec = await startCodecServer({
    keyRing,
    port: 0,
    origins: uiAddress === undefined ? [] : [uiAddress, uiAddress.replace('127.0.0.1', 'localhost')],
    namespaces: [namespace],
    token: randomBytes(24).toString('base64url'),
  });
  running.push(() => codec.stop());
  return { server, codec };
}
