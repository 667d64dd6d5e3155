import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { pino } from 'pino';
import { stringify } from 'yaml';
import { keyRingOf, loadConfig, prepareWorkers, secretSourcesOf } from '../../src/worker/index.js';
import type { Stack } from './stack.js';

/** Runs Heddle's workers in this process, as an embedding program does; gives the function that ends them. */
export async function startOwnWorkers(
  { folder, namespace, service }: Stack,
  temporalAddress: string,
  change: (options: WorkerOptions) => WorkerOptions,
  more: object = {},
): Promise<() => Promise<void>> {
  const dataFolder = join(folder, 'own');
  mkdirSync(dataFolder, { mode: 0o700 });
  const file = join(folder, 'own.yaml');
  const { endpoint, apiKeyFile } = service;
  const fields = { endpoint, apiKey: { secret: `file:${apiKeyFile}` } };
  writeFileSync(
    file,
    stringify({
      dataFolder,
      keys: { folder: join(folder, 'keys') },
      providers: { local: { type: 'local', fields } },
      ...more,
    }),
  );
  const environment = { HOME: folder, TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: namespace };
  const config = loadConfig({ configFlag: file, env: environment });
  const prepared = await prepareWorkers({
    config,
    keyRing: keyRingOf(config),
    secretSources: secretSourcesOf(config),
    log: pino({ level: 'silent' }),
  });
  const workers = await Promise.all(prepared.workers.map((options) => Worker.create(change(options))));
  const running = Promise.all(workers.map((worker) => worker.run()));
  return async () => {
    for (const worker of workers) worker.shutdown();
    await running;
    await prepared.close();
  };
}
