import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { askSurely, outlast } from '../harness/chaos/ask.js';
import { findSecrets, searchFolder, watchProcesses, writingsOf } from '../harness/chaos/canary.js';
import { type ChaosWorld, openWorld } from '../harness/chaos/chaos-world.js';
import { readHistories } from '../harness/chaos/histories.js';
import { smallCluster } from '../harness/chaos/specs.js';
import { startOnSqlite } from '../harness/chaos/server.js';
import { newFolder } from '../harness/folder.js';

describe('secrets', () => {
  let folder: string;
  let world: ChaosWorld;
  let apiKey: string;
  beforeAll(async () => {
    folder = newFolder();
    world = await openWorld({
      server: await startOnSqlite(folder, inject('temporalBinary')),
      distPath: inject('distPath'),
      folder,
      workers: 1,
    });
    apiKey = (await readFile(world.stack.service.apiKeyFile, 'utf8')).trim();
  });
  afterAll(() => world.stop());

  it('would be found in each of their seven encodings', () => {
    for (const [writing, forms] of Object.entries(writingsOf(world.secret))) {
      for (const form of forms)
        expect(
          findSecrets(
            Buffer.concat([Buffer.from('before '), form, Buffer.from(' after')]),
            [world.secret],
            'it',
          ),
          writing,
        ).toContain(`secret 1 stands ${writing} in it`);
    }
  });

  it('appear only where they were put, after scripts have used them and a worker was killed', async () => {
    const {
      stack: { client },
      server,
      crew,
      secret,
      secretFile,
      stack,
    } = world;
    const secrets = [secret, apiKey];
    const processes = watchProcesses(secrets);
    const operation = await askSurely(client, 'canary', () =>
      client.apply(smallCluster('canary', { web: 1, config: 0, cache: true }, world.partsOf('local'))),
    );
    await Promise.all(crew.alive().map(({ pid }) => crew.kill(pid)));
    expect((await outlast(client, 'canary', operation)).operation).toMatchObject({
      state: 'done',
      tasks: { failed: 0 },
    });
    expect(await world.ledger.executions()).not.toEqual([]);

    const found = [
      ...processes.stop(),
      ...findSecrets(Buffer.from(await readHistories(client.temporal)), secrets, 'the decrypted histories'),
      ...findSecrets(Buffer.from(JSON.stringify(await client.status('canary'))), secrets, 'the status'),
      ...findSecrets(Buffer.from(crew.logs()), secrets, 'the logs of workers'),
      // SQLite's files and the server's log; then homes, stores and keys of the workers, and homes and run
      // folders of the nodes.
      ...(await searchFolder(server.folder, secrets)),
      ...(await searchFolder(stack.folder, secrets, [secretFile, stack.service.apiKeyFile])),
    ];
    expect(found).toEqual([]);
    await outlast(client, 'canary', await askSurely(client, 'canary', () => client.delete('canary')));
  });
});
