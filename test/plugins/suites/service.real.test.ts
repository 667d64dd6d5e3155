import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import type { JsonObject } from '../../../src/model/json.js';
import { providerSuite } from '../../../src/testing/index.js';
import { openProgramBench } from '../providers/service/support/program-bench.js';
import { noPostgres, postgresImage, startPostgresService } from '../../harness/postgres-service.js';
import { newFolder } from '../../harness/folder.js';

const noApi =
  'there is no API between: what exists stands in heddle.yaml, who has it is kept by the engine, and programs know the service; test/plugins/providers/service has them fail';
const verbs = ['reach', 'current', 'capture', 'load', 'check', 'taint'] as const;

async function openDatabases() {
  const databases = await startPostgresService(['one', 'two', 'three']);
  const folder = newFolder();
  mkdirSync(join(folder, 'images'));
  const resources = databases.resources.map((resource) => ({ ...resource, flavor: 'small' }));
  const admin: JsonObject = {
    folder,
    resources,
    programs: Object.fromEntries(verbs.map((verb) => [verb, [postgresImage, verb]])),
  };
  await openProgramBench(admin).captureAs('empty@1');
  return {
    admin,
    flavor: 'small',
    image: 'empty@1',
    // Nobody listens there, and no share is mounted there.
    silent: {
      folder: join(folder, 'nowhere'),
      resources: resources.map((resource) => ({
        ...resource,
        environment: { ...resource.environment, PGPORT: '1' },
      })),
    },
    marks: {
      put: async (name: string) => {
        await databases.sql(name, 'CREATE TABLE IF NOT EXISTS mark (id int)');
      },
      has: async (name: string) =>
        (await databases.sql(name, "SELECT count(*) FROM pg_tables WHERE tablename = 'mark'")) === '1',
    },
    close: async () => {
      await databases.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

if (noPostgres !== undefined) test.skip(`provider service: ${noPostgres}`);
else {
  providerSuite(
    { describe, test, afterAll },
    {
      name: 'service',
      machines: ['load', 'capture', 'reach'],
      open: openDatabases,
      without: {
        'list-pages': 'its resources are in its configuration',
        'lost-create': noApi,
        'half-made': noApi,
        'lost-delete': noApi,
        cancel: noApi,
        garbage: noApi,
        refusals: noApi,
        unreachable: noApi,
        'load-lost': noApi,
        'capture-lost': noApi,
        'capture-cancel': noApi,
        login: 'nobody logs in to a service; the case reach looks whether it takes orders',
        'wrong-credentials': 'credentials are those of its programs, in their environment',
        redaction: 'credentials are those of its programs, in their environment',
        'list-apart':
          'its resources carry no tags: the engine keeps who has them, for one installation alone',
      },
    },
  );
}
