import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/index.js';
import { checkConfiguration } from '../../src/plugins/check-accounts.js';
import { loadRegistry } from '../../src/plugins/registry.js';
import { parseKeyRing } from '../../src/secrets/keys.js';
import { floorProblem } from '../../src/server/version.js';
import { newFolder } from '../harness/folder.js';

interface Service {
  readonly image: string;
  readonly hostname?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: object;
  readonly networks?: readonly string[] | Readonly<Record<string, object>>;
  readonly network_mode?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition?: string }>>;
}

const root = join(import.meta.dirname, '..', '..');
const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
const compose = parse(text, { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: object;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
};
const services = Object.entries(compose.services);

describe('docker-compose.yml', () => {
  test('publishes ports on loopback only', () => {
    const published = services.flatMap(([, { ports = [] }]) => ports);
    expect(published.length).toBe(3);
    expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  // Promise: codec-token
  test('gives the token of the codec server only to the codec server', () => {
    const holders = services
      .filter(([, service]) => JSON.stringify(service).includes('HEDDLE_CODEC_TOKEN'))
      .map(([name]) => name);
    expect(holders).toEqual(['codec-server']);
    expect(
      Object.keys(compose.services['temporal-ui']?.environment ?? {}).filter((name) =>
        name.includes('CODEC'),
      ),
    ).toEqual([]);
  });

  test('gives the payload keys only to the codec server, workers and the command line', () => {
    const holders = services
      .filter(([, service]) => JSON.stringify(service).includes('HEDDLE_KEYS'))
      .map(([name]) => name);
    expect(holders).toEqual(['codec-server', 'worker', 'heddle']);
  });

  describe('the networks', () => {
    const networksOf = ({ networks = [] }: Service): readonly string[] =>
      Array.isArray(networks) ? (networks as readonly string[]) : Object.keys(networks);
    const reachable = (from: string): readonly string[] => {
      const own = networksOf(compose.services[from] ?? { image: '' });
      return services
        .filter(
          ([name, service]) => name !== from && networksOf(service).some((network) => own.includes(network)),
        )
        .map(([name]) => name);
    };

    test("are named for every service: none uses the default network, the host's or another service's", () => {
      expect(
        services
          .filter(([, service]) => networksOf(service).length === 0 || service.network_mode !== undefined)
          .map(([name]) => name),
      ).toEqual([]);
      expect(new Set(services.flatMap(([, service]) => networksOf(service)))).toEqual(
        new Set(Object.keys(compose.networks)),
      );
    });

    // Promise: machines-isolated
    test('let machines reach only the worker and the command line', () => {
      expect(reachable('machines')).toEqual(['worker', 'heddle']);
      expect(
        networksOf(compose.services['machines'] ?? { image: '' }).filter(
          (network) => compose.networks[network]?.internal !== true,
        ),
      ).toEqual([]);
    });

    test('let only the Temporal server reach the database, and no container the codec server', () => {
      expect(reachable('postgresql')).toEqual(['temporal-schema', 'temporal']);
      expect(reachable('codec-server')).toEqual([]);
    });
  });

  test('contains no secret: each comes from .env, and nothing starts without it', () => {
    const secret = services.flatMap(([name, { environment = {} }]) =>
      Object.entries(environment)
        .filter(([key]) => /PASSWORD|TOKEN|KEYS/.test(key))
        .map(([key, value]) => ({ name, key, value })),
    );
    expect(secret.length).toBeGreaterThan(3);
    expect(secret.filter(({ value }) => !/^\$\{\w+:\?run deploy\/make-env\.sh first\}$/.test(value))).toEqual(
      [],
    );
  });

  test('pins every image, and the Temporal server to a safe version', () => {
    expect(
      services.filter(([, { image }]) => !/:\d|^heddle:local$/.test(image)).map(([name]) => name),
    ).toEqual([]);
    const server = compose.services['temporal']?.image.split(':')[1] ?? '';
    expect(floorProblem(server)).toBeUndefined();
    expect(compose.services['temporal-schema']?.image).toBe(`temporalio/admin-tools:${server}`);
  });

  test('gives each container that runs programs of Heddle a host name of its own', () => {
    const names = ['worker', 'heddle'].map((name) => compose.services[name]?.hostname);
    expect(names).toEqual(['worker', 'heddle']);
  });

  test('mounts only existing files and declared volumes', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((volume) => volume.split(':')[0] ?? ''),
    );
    const isThere = (source: string): boolean =>
      source.startsWith('.') ? existsSync(join(root, source)) : Object.hasOwn(compose.volumes, source);
    expect(mounted.filter((source) => !isThere(source))).toEqual([]);
  });

  test('waits for services that have a health check', () => {
    const needs = services.flatMap(([name, { depends_on = {} }]) =>
      Object.entries(depends_on).map(([other, need]) => ({ name, other, need })),
    );
    const checked = needs.filter(({ other }) => compose.services[other]?.healthcheck !== undefined);
    expect(checked.length).toBeGreaterThan(3);
    expect(checked.filter(({ need }) => need.condition !== 'service_healthy')).toEqual([]);
  });

  test('gives the worker a configuration that passes the checks at its start', async () => {
    const home = newFolder();
    const file = join(home, 'heddle.yaml');
    const log = { info: () => undefined };
    const check = async (text: string): Promise<readonly string[]> => {
      writeFileSync(file, text);
      // The folders of the file belong to the container.
      const env = { PATH: '/usr/bin:/bin', HOME: home, HEDDLE_DATA_FOLDER: join(home, 'data') };
      const config = loadConfig({ configFlag: file, env });
      const registry = await loadRegistry({ folders: config.plugins, log });
      try {
        return Object.keys(checkConfiguration(registry, config).providers);
      } finally {
        await registry.close();
      }
    };
    const shipped = readFileSync(join(root, 'deploy', 'heddle.yaml'), 'utf8');
    try {
      expect(await check(shipped)).toEqual(['local']);
      await expect(check(shipped.replace(/ *insecure: true.*\n/, ''))).rejects.toThrow(
        /is an unencrypted address/,
      );
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});

describe('deploy/make-env.sh', () => {
  let folder: string;

  beforeAll(() => {
    folder = newFolder();
    cpSync(join(root, 'deploy'), join(folder, 'deploy'), { recursive: true });
  });

  const make = (): ReturnType<typeof spawnSync> =>
    spawnSync('sh', [join(folder, 'deploy', 'make-env.sh')], { encoding: 'utf8' });
  const read = (): string => readFileSync(join(folder, '.env'), 'utf8');

  test('creates every required variable, readable only for its owner, with keys that Heddle accepts', () => {
    expect(make().status).toBe(0);
    const wanted = new Set([...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name));
    const made = new Map(
      [...read().matchAll(/^(\w+)='?(.+?)'?$/gm)].map(([, name, value]) => [name, value ?? '']),
    );
    expect(new Set(made.keys())).toEqual(wanted);
    expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600);
    expect(parseKeyRing(made.get('HEDDLE_KEYS') ?? '', '.env').list()).toHaveLength(1);
  });

  test('does not replace secrets in use', () => {
    const before = read();
    const again = make();
    expect(again.status).toBe(1);
    expect(again.stderr).toContain('.env is there already');
    expect(read()).toBe(before);
  });
});
