import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { keyRingOf, loadConfig, prepareWorkers, secretSourcesOf } from '../../src/worker/index.js';
import { startStack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

it('an embedding program runs the workers of Heddle beside its own activities', async () => {
  const stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    distPath: inject('distPath'),
  });
  const dataFolder = join(stack.folder, 'own');
  mkdirSync(dataFolder, { mode: 0o700 });
  const file = join(stack.folder, 'own.yaml');
  const { endpoint, apiKeyFile } = stack.service;
  const fields = { endpoint, apiKey: { secret: `file:${apiKeyFile}` } };
  writeFileSync(
    file,
    stringify({
      dataFolder,
      keys: { folder: join(stack.folder, 'keys') },
      providers: { local: { type: 'local', fields } },
    }),
  );
  const environment = {
    HOME: stack.folder,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: stack.namespace,
  };
  const config = loadConfig({ configFlag: file, env: environment });
  const prepared = await prepareWorkers({
    config,
    keyRing: keyRingOf(config),
    secretSources: secretSourcesOf(config),
    log: pino({ level: 'silent' }),
  });
  const workers = await Promise.all(
    prepared.workers.map((options) =>
      Worker.create({ ...options, activities: { ...options.activities, GREET: () => 'hello' } }),
    ),
  );
  const running = Promise.all(workers.map((worker) => worker.run()));
  try {
    const { operation } = await stack.client.apply(
      closed({ name: 'own', nodes: { app: nodes(1, []) }, services: {} }),
    );
    expect((await stack.client.waitFor('own', operation)).operation.state).toBe('done');
  } finally {
    for (const worker of workers) worker.shutdown();
    await running;
    await prepared.close();
    await stack.stop();
  }
});
