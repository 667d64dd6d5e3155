import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { writeWorkerConfig } from '../../src/cli/system/dev-config.js';
import { loadConfig } from '../../src/config/index.js';
import { configSchema } from '../../src/schema/config.js';
import { newFolder } from '../harness/folder.js';

let folder = '';
beforeAll(() => {
  folder = newFolder();
});

it('the worker of heddle dev uses all settings of heddle.yaml', async () => {
  const file = join(folder, 'heddle.yaml');
  const written = {
    dataFolder: join(folder, 'data'),
    site: 'here',
    scale: { inlineNodes: 7 },
    loadsAtOnce: 3,
    quarantineAfter: 4,
    stackTraces: true,
    metrics: { address: '127.0.0.1:9464' },
    sweep: { every: '2m', minimumAge: '3h', cap: 2, delete: true },
    reservations: { prepare: '5m', longest: '2d', notify: { command: ['/bin/tell'] } },
    secrets: { allow: ['env:APP_*'], environment: ['TOOL_TOKEN'] },
    pluginEnvironment: { mine: ['HTTPS_PROXY'] },
    pluginLimits: { mine: { memoryMb: 64, time: '20s', processes: 2 } },
    providers: { rack: { type: 'static', fields: { machines: [] } } },
    automators: { shell: { fields: {} } },
    cacheFolder: join(folder, 'cache'),
    plugins: [join(folder, 'plugins')],
    keys: { folder: join(folder, 'keys') },
    runFolders: { days: 7, count: 100, sizeMb: 200, outputMb: 8 },
    store: {
      folder: join(folder, 'store'),
      ...{ logDays: 7, logFiles: 5_000, logMb: 100 },
      s3: {
        ...{ endpoint: 'https://s3.example.org', bucket: 'logs', region: 'eu-central-1', prefix: 'heddle/' },
        ...{ accessKeyId: 'AK', secretAccessKey: { secret: 'env:S3_SECRET' } },
      },
    },
    periodicChecks: { every: '1m' },
    webhooks: { ops: { url: 'https://hooks.example.org', secret: { secret: 'env:HOOK_SECRET' } } },
    encryption: 'optional',
    builder: {
      builds: 2,
      uploads: 3,
      folder: join(folder, 'built'),
      commands: { debian: { run: ['/bin/make'], variables: { SUITE: '[a-z]+' } } },
    },
  };
  // Whatever can be configured has to reach that worker.
  expect(['$schema', ...Object.keys(written)].toSorted()).toEqual(Object.keys(configSchema.shape).toSorted());
  await mkdir(join(folder, 'plugins'));
  await writeFile(file, stringify(written));
  const env = { HOME: folder };
  const config = loadConfig({ configFlag: file, env });
  const worker = loadConfig({
    configFlag: await writeWorkerConfig(config, {
      endpoint: 'http://127.0.0.1:1',
      apiKeyFile: '/key',
    } as never),
    env,
  });
  const { file: _file, locate: _locate, origins: _origins, providers, references, ...told } = config;
  expect(worker).toMatchObject(told);
  expect(worker.references).toEqual(expect.arrayContaining(['file:/key', ...references]));
  expect(worker.providers).toMatchObject({ ...providers, local: { type: 'local' } });
});
