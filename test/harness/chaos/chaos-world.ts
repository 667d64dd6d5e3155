import { writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Stack, startStack } from '../stack.js';
import { type Crew, hireCrew } from './crew.js';
import { type LagType, writeLagCloud } from './lag-cloud.js';
import { type Ledger, openLedger } from './ledger.js';
import { type MachinesOnDisk, readMachines } from './machines.js';
import { openPoints, type Points } from './points.js';
import type { MortalServer } from './server.js';
import type { SpecParts } from './specs.js';

/** A stack whose server and workers may be killed, and everything the oracle reads. */
export interface ChaosWorld {
  readonly stack: Stack;
  readonly server: MortalServer;
  readonly crew: Crew;
  readonly points: Points;
  readonly ledger: Ledger;
  readonly machines: MachinesOnDisk;
  /** A secret that reaches every script. */
  readonly secret: string;
  readonly secretFile: string;
  /** For clusters on the account. */
  partsOf(provider: Account): SpecParts;
  stop(): Promise<void>;
}

/**
 * Accounts of one machine service: by token; by a list that lags behind, as declared and as it should not be
 * declared.
 */
export type Account = 'local' | LagType;

export interface WorldOptions {
  readonly server: MortalServer;
  readonly distPath: string;
  /** For plugins; whoever made it removes it. */
  readonly folder: string;
  readonly workers?: number;
  /** Accounts besides `local`. */
  readonly accounts?: readonly LagType[];
  /** More folders of plugins. */
  readonly plugins?: readonly string[];
  /** Of heddle.yaml. */
  readonly config?: object;
}

export async function openWorld({
  server,
  distPath,
  folder,
  workers = 2,
  accounts: types = ['patient'],
  plugins = [],
  config = {},
}: WorldOptions): Promise<ChaosWorld> {
  const options = { temporalAddress: server.address, distPath, kind: 'directory' as const };
  const pluginFolder = await writeLagCloud(folder, types);
  // The accounts name the service's address, which is known once it runs.
  const accounts: Record<string, object | 'service'> = { local: 'service', spare: 'service' };
  const stack = await startStack({
    ...options,
    accounts,
    config: { plugins: [pluginFolder, ...plugins], ...config },
  });
  const fields = { endpoint: stack.service.endpoint, apiKey: { secret: `file:${stack.service.apiKeyFile}` } };
  for (const type of types) accounts[type] = { type, fields };
  const secret = `${randomBytes(12).toString('base64url')} +/"\\ö%&${randomBytes(12).toString('base64url')}`;
  const secretFile = join(stack.folder, 'secret');
  await writeFile(secretFile, secret, { mode: 0o600 });
  const points = await openPoints(stack.folder, distPath);
  const crew = await hireCrew(stack, workers, points.distPath);
  const ledger = openLedger(stack.folder);
  return {
    stack,
    server,
    crew,
    points,
    ledger,
    machines: readMachines(stack.folder),
    secret,
    secretFile,
    partsOf: (provider) => ({
      ledger,
      provider,
      alternative: 'spare',
      secret: { secret: `file:${secretFile}` },
    }),
    async stop() {
      await crew.dismiss();
      await stack.stop();
      await server.stop();
    },
  };
}
