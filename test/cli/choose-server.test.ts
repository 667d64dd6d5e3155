import { rm, writeFile } from 'node:fs/promises';
import { beforeAll, expect, it } from 'vitest';
import { chooseServer } from '../../src/cli/configuration.js';
import { devRecordFile, writeDevRecord } from '../../src/cli/system/dev-record.js';
import { loadConfig } from '../../src/config/index.js';
import { markOf } from '../../src/detached/process-mark.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
beforeAll(async () => {
  folder = newFolder();
  const owner = await markOf(process.pid);
  if (owner === undefined) throw new Error('this process is not in the process table');
  await writeDevRecord(folder, {
    owner,
    address: '127.0.0.1:7777',
    namespace: 'default',
    ui: '',
    codecEndpoint: '',
    accounts: '',
    machines: { endpoint: '', apiKeyFile: '' },
    workerConfig: '/its/dev-worker.yaml',
    processes: { server: owner, machines: owner, worker: owner },
  });
});

it.each([
  ['no server is named', undefined, undefined, 'dev', true],
  ['a flag names its server', '127.0.0.1:7777', undefined, 'flag', true],
  ['a flag names it by another name', 'localhost:7777', undefined, 'flag', true],
  ['settings name its server', undefined, '127.0.0.1:7777', 'configuration', true],
  ['a flag names another one', '127.0.0.1:7778', undefined, 'flag', false],
  ['settings name another one', undefined, 'temporal.example:7777', 'configuration', false],
  ['a flag goes over settings that name it', 'temporal.example:7777', '127.0.0.1:7777', 'flag', false],
])(
  'a worker beside heddle dev shares the settings of its worker, or not: %s',
  async (_, flag, setting, from, has) => {
    const env = { HOME: folder, HEDDLE_DATA_FOLDER: folder, TEMPORAL_ADDRESS: setting };
    const choice = await chooseServer(loadConfig({ env }), flag === undefined ? {} : { address: flag });
    expect(choice).toMatchObject({ from, address: flag ?? setting ?? '127.0.0.1:7777' });
    expect(choice.dev?.workerConfig).toBe(has ? '/its/dev-worker.yaml' : undefined);
  },
);

it('a namespace that Temporal settings name is used beside heddle dev too', async () => {
  const env = { HOME: folder, HEDDLE_DATA_FOLDER: folder };
  const choose = async (more: object, namespace?: string): Promise<string> =>
    (
      await chooseServer(
        loadConfig({ env: { ...env, ...more } }),
        namespace === undefined ? {} : { namespace },
      )
    ).namespace;
  expect(await choose({})).toBe('default');
  expect(await choose({ TEMPORAL_NAMESPACE: 'team' })).toBe('team');
  expect(await choose({ TEMPORAL_NAMESPACE: 'team' }, 'flag')).toBe('flag');
});

it('credentials of another server, whose address is missing, are not ignored beside heddle dev', async () => {
  const env = { HOME: folder, HEDDLE_DATA_FOLDER: folder };
  for (const [set, what] of [
    [{ TEMPORAL_TLS: 'true' }, 'TLS'],
    [{ TEMPORAL_API_KEY: 'k' }, 'an API key'],
  ] as const) {
    const config = loadConfig({ env: { ...env, ...set } });
    await expect(chooseServer(config, {})).rejects.toMatchObject({
      code: 'Invalid',
      message: expect.stringContaining(
        `${what} is set for Temporal, but no address, and heddle dev, which runs at 127.0.0.1:7777`,
      ),
    });
    expect(await chooseServer(config, { address: '127.0.0.1:7777' })).toMatchObject({ from: 'flag' });
  }
});

it('a damaged record of heddle dev is reported, so that no other server is used instead', async () => {
  const damaged = newFolder();
  await writeFile(devRecordFile(damaged), '{"owner": ');
  const config = loadConfig({ env: { HOME: damaged, HEDDLE_DATA_FOLDER: damaged } });
  await expect(chooseServer(config, {})).rejects.toThrow(
    /dev\.json is damaged\. Start heddle dev again, or remove the file if it is not running\./,
  );
  await rm(damaged, { recursive: true });
});
