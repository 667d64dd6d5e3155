import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { keyRingOf, loadConfig, prepareWorkers, secretSourcesOf } from '../../src/worker/index.js';
import { startStack } from '../harness/stack.js';
import { openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

it('a small cluster is created while scripts of a large one hold all slots that groups have', async () => {
  const stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    distPath: inject('distPath'),
  });
  const ledger = openLedger(stack.folder);
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
      scale: { inlineNodes: 1, groupNodes: 10, inFlight: 10 },
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
  const slots = 3;
  const workers = await Promise.all(
    prepared.workers.map((options) =>
      Worker.create({ ...options, maxConcurrentActivityTaskExecutions: slots }),
    ),
  );
  const running = Promise.all(workers.map((worker) => worker.run()));
  const cluster = (name: string, count: number, gate?: string): ReturnType<typeof closed> =>
    closed({
      name,
      nodes: { app: nodes(count, ['app']) },
      services: { app: { actions: { install: ledger.script(gate === undefined ? {} : { gate }) } } },
    });
  try {
    const large = await stack.client.apply(cluster('large', 6, 'large'));
    // One node is the cluster's own.
    const begun = async (): Promise<number> => (await ledger.lines('large ')).length;
    await expect.poll(begun, { timeout: 60_000 }).toBe(1 + slots);
    const small = await stack.client.apply(cluster('small', 1));
    expect((await stack.client.waitFor('small', small.operation)).operation.state).toBe('done');
    expect(await begun()).toBe(1 + slots);
    await ledger.open('large');
    expect((await stack.client.waitFor('large', large.operation)).operation.state).toBe('done');
  } finally {
    for (const worker of workers) worker.shutdown();
    await running;
    await prepared.close();
    await stack.stop();
  }
});
