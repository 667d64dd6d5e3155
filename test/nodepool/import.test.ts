import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject } from '../../src/model/json.js';
import { checkAccounts } from '../../src/plugins/check-accounts.js';
import { loadRegistry } from '../../src/plugins/registry.js';
import { importNodepool, type NodepoolReading } from '../../src/nodepool/import.js';
import { readImageFile } from '../../src/schema/image/read.js';
import { readPoolsFile } from '../../src/schema/pool/read.js';
import { formatProblem } from '../../src/schema/problem.js';

const whole = readFileSync(join(import.meta.dirname, 'nodepool.yaml'), 'utf8');
const clouds = readFileSync(join(import.meta.dirname, 'clouds.yaml'), 'utf8');
const read = (text: string, variables: Readonly<Record<string, string>> = {}): NodepoolReading =>
  importNodepool(text, 'nodepool.yaml', { name: 'ci', simulated: 'local', variables });

function taken(
  text: string,
  variables: Readonly<Record<string, string>> = {},
): Extract<NodepoolReading, { readonly ok: true }> {
  const reading = read(text, variables);
  if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
  return reading;
}

/** Fails unless a worker accepts the accounts with these fields added. */
async function expectAccepted(
  added: Readonly<Record<string, JsonObject>>,
  accounts: JsonObject,
): Promise<void> {
  const whole = Object.fromEntries(
    Object.entries(accounts as Readonly<Record<string, { fields: JsonObject }>>).map(([name, account]) => [
      name,
      { ...account, fields: { ...account.fields, ...added[name] } },
    ]),
  );
  const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  expect(Object.keys(checkAccounts(registry, whole as never))).toEqual(Object.keys(added));
  await registry.close();
}

describe('a nodepool.yaml', () => {
  test('becomes one pool: labels, limits, tenants, static machines and the simulated cloud', () => {
    const { pools } = taken(whole);
    expect(pools).toMatchObject({
      pools: {
        ci: {
          labels: {
            'ubuntu-jammy': { minReady: 2, maxReadyAge: 3_600, maxHoldAge: 86_400 },
            'bare-metal': { minReady: 0 },
            gpu: { minReady: 0 },
          },
          providerPools: {
            'rack-main': {
              provider: 'rack-main',
              limits: { nodes: 4 },
              checkEvery: '1m',
              keepUnwell: true,
              attributes: { room: '12' },
              labels: { 'bare-metal': {} },
            },
            'rack-main-2': { limits: { nodes: 1 }, labels: { 'bare-metal': {}, gpu: {} } },
            'cloud1-main': {
              provider: 'local',
              priority: 50,
              limits: { nodes: 10, cores: 20 },
              launchAttempts: 2,
              labels: { 'ubuntu-jammy': { hardware: 'small', image: 'host', confirmWithin: 720 } },
            },
          },
          tenants: { 'acme-inc': { nodes: 20, cores: 40 } },
        },
      },
    });
    expect(readPoolsFile(stringify(pools), 'pools.yaml').ok).toBe(true);
  });

  test('has accounts for its machines that a worker accepts', async () => {
    const { accounts } = taken(whole);
    expect(accounts).toMatchObject({
      'rack-main': {
        type: 'static',
        fields: {
          liveness: 'ssh',
          machines: [
            {
              name: '127.20.1.1',
              address: '127.20.1.1',
              user: 'ci',
              port: 2222,
              slots: 3,
              hostKey: expect.stringMatching(/^ssh-ed25519 AAAA/),
            },
            { name: '127.20.1.2', user: 'zuul' },
          ],
        },
      },
      'rack-main-2': { fields: { machines: [{ name: 'gpu1.example.com' }] } },
    });
    await expectAccepted({ 'rack-main': {}, 'rack-main-2': {} }, accounts);
  });

  test('reports everything without a counterpart, with its place', () => {
    const told = taken(whole).remarks.map(formatProblem);
    for (const about of [
      'nodepool.yaml:1:1: warning: elements-dir: has no counterpart',
      'zookeeper-servers: has no counterpart',
      'max-volumes: has no counterpart',
      'labels[0].name: "ubuntu_jammy" is renamed ubuntu-jammy',
      'labels[3].min-ready: disables the label',
      'labels[4].name: no imported provider serves label windows',
      'nodes[0].timeout: has no counterpart',
      'nodes[2].host-key: is not a valid host key',
      'nodes[3]: is reached by winrm',
      'In heddle.yaml: providers.local.limits.ratePerSecond: 10.',
      'Fast with jammy is imported as hardware small with image host',
      'Set cores under uses',
      '%(NODEPOOL_KEY) has no value in the environment',
      'providers of driver azure are not imported, because Heddle does not support it',
      'has no login settings',
    ])
      expect(
        told.filter((line) => line.includes(about)),
        about,
      ).toHaveLength(1);
    expect(told.every((line) => /^nodepool\.yaml:\d+:\d+: warning: /.test(line))).toBe(true);
  });

  test('reports an unknown key', () => {
    expect(taken(`${whole}\nnew-thing: 1\n`).remarks.map(formatProblem)).toContainEqual(
      expect.stringContaining('new-thing: has no counterpart and is omitted. Heddle has no alternative.'),
    );
  });

  test('gives different names to names that would collide', () => {
    const { pools } = taken(`
labels: [{name: a.b}, {name: a_b}]
providers: [{name: c, driver: fake, pools: [{name: main, labels: [{name: a.b}, {name: a_b}]}]}]
`);
    expect(pools).toMatchObject({ pools: { ci: { labels: { 'a-b': {}, 'a-b-2': {} } } } });
  });

  test.each<readonly [string, string, RegExp]>([
    ['no mapping', '- 1', /should be a mapping|mapping/],
    ['no labels', 'providers: [{name: a}]', /nodepool\.yaml:1:1: labels: is missing/],
    [
      'labels that are no list',
      'labels: {a: 1}\nproviders: [{name: a}]',
      /nodepool\.yaml:1:1: labels: should be a list/,
    ],
    [
      'a pool without a name',
      'labels: [{name: a}]\nproviders: [{name: a, driver: fake, pools: [{max-servers: 3}]}]',
      /providers\[0\]\.pools\[0\]\.name: is missing/,
    ],
    [
      'nothing that could be taken over',
      'labels: [{name: a}]\nproviders: [{name: a, driver: gce, pools: [{labels: [a]}]}]',
      /providers: has no pool that can be imported[^]*not gce/,
    ],
    ['broken YAML', 'labels: [', /nodepool\.yaml:1:/],
    [
      'a variable that is missing where a value begins',
      'labels: [{name: a}]\nmax-hold-age: %(NODEPOOL_AGE)\n',
      /%\(NODEPOOL_AGE\) has no value in the environment/,
    ],
  ])('with %s is refused with the place', (_what, text, expected) => {
    const reading = read(text);
    expect(reading.ok ? '' : reading.problems.map(formatProblem).join('\n')).toMatch(expected);
  });

  test('keeps pools of one name apart, and reports labels that are declared twice or keep too many nodes ready', () => {
    const { pools, remarks } = taken(`labels:
  - {name: a, min-ready: 1}
  - {name: b}
  - {name: a, min-ready: 5000}
providers:
  - {name: c, driver: fake, pools: [{name: main, labels: [{name: a}]}, {name: main, labels: [{name: b}]}]}
`);
    expect(pools).toMatchObject({
      pools: {
        ci: {
          labels: { a: { minReady: 1_000 }, b: {} },
          providerPools: { 'c-main': { labels: { a: {} } }, 'c-main-2': { labels: { b: {} } } },
        },
      },
    });
    const said = remarks.map(formatProblem);
    expect(said).toContain(
      'nodepool.yaml:2:5: warning: labels[0]: label a is declared again below, which overrides this one',
    );
    expect(said).toContain(
      'nodepool.yaml:4:15: warning: labels[2].min-ready: exceeds the maximum of 1000, and is imported as 1000',
    );
  });
});

describe('a nodepool.yaml with clouds', () => {
  const variables = { NODEPOOL_ZONE: 'nova', NODEPOOL_SERVERS: '7' };

  test('becomes accounts, and provider pools with the fields of their labels', async () => {
    const { pools, accounts } = taken(clouds, variables);
    expect(accounts).toEqual({
      'stack-east': {
        type: 'openstack',
        fields: { region: 'east' },
        allow: { networks: ['build-net'], securityGroups: ['ssh'] },
      },
      amazon: {
        type: 'aws',
        fields: { region: 'eu-central-1' },
        allow: { subnets: ['subnet-1'], securityGroups: ['sg-1'], instanceProfile: ['builder'] },
      },
    });
    await expectAccepted(
      {
        'stack-east': {
          authUrl: 'https://cloud.example.com:5000/v3',
          applicationCredentialId: 'id',
          applicationCredentialSecret: 'secret',
        },
        amazon: {},
      },
      accounts,
    );
    expect(pools).toMatchObject({
      pools: {
        ci: {
          providerPools: {
            'stack-east-main': {
              provider: 'stack-east',
              limits: { nodes: 7 },
              launchAttempts: 2,
              labels: {
                jammy: {
                  hardware: 'm1.large',
                  libraryImage: 'ubuntu-jammy',
                  fields: {
                    keyName: 'ci',
                    networks: ['build-net'],
                    securityGroups: ['ssh'],
                    zones: ['nova'],
                    rootVolumeGb: 80,
                    user: 'zuul',
                  },
                  confirmWithin: 720,
                },
                cirros: { hardware: 'ram-512', image: 'cirros-0.6', fields: { user: 'cirros' } },
              },
            },
            'amazon-main': {
              provider: 'amazon',
              labels: {
                spot: {
                  hardware: 't3.medium',
                  image: 'ami-1',
                  fields: {
                    user: 'ubuntu',
                    keyName: 'ci',
                    subnets: ['subnet-1'],
                    securityGroups: ['sg-1'],
                    reachBy: 'public',
                    rootVolumeGb: 40,
                    rootVolumeType: 'gp3',
                    spot: true,
                    instanceProfile: 'builder',
                  },
                },
                jammy: { libraryImage: 'ubuntu-jammy' },
              },
            },
          },
        },
      },
    });
    expect(readPoolsFile(stringify(pools), 'pools.yaml').ok).toBe(true);
  });

  test('has image files for its diskimages, with what they inherit', () => {
    const { images } = taken(clouds, variables);
    expect(images).toEqual({
      'ubuntu-jammy': {
        name: 'ubuntu-jammy',
        command: {
          run: 'diskimage-builder',
          environment: { TMPDIR: '/opt/tmp', DIB_CHECKSUM: '1', ELEMENTS: 'base vm', DIB_RELEASE: 'jammy' },
          formats: ['qcow2', 'raw'],
          timeout: 3600,
        },
        uploads: [
          { provider: 'stack-east', format: 'qcow2' },
          { provider: 'amazon', format: 'raw' },
        ],
        validate: { provider: 'stack-east', hardware: 'm1.large' },
        rebuildAge: 86_400,
      },
      unused: expect.objectContaining({ validate: false, uploads: [] }),
    });
    for (const image of Object.values(images))
      expect(readImageFile(stringify(image), 'image.yaml')).toMatchObject({ ok: true });
  });

  test('reports what an operator has to add, and variables without a value', () => {
    const told = taken(clouds, { NODEPOOL_SERVERS: '7' }).remarks.map(formatProblem);
    for (const about of [
      'nodepool.yaml:12:80: warning: %(NODEPOOL_ZONE) has no value in the environment',
      'takes its credentials from cloud east of clouds.yaml',
      "takes its credentials from the launcher's environment or profile",
      'labels[1].min-ram: selects the first flavor with 512 MiB of memory or more, and is imported as hardware "ram-512". In heddle.yaml map it to a flavor: providers.stack-east.hardware: {"ram-512": FLAVOR}.',
      "are built by the builders' command diskimage-builder",
      'providers[0].diskimages[0].pause: has no counterpart',
      'providers of driver kubernetes are not imported, because Heddle does not support it',
    ])
      expect(
        told.filter((line) => line.includes(about)),
        about,
      ).toHaveLength(1);
  });
});

describe('a nodepool.yaml with limits and choices of clouds', () => {
  const withProvider = (
    provider: string,
    labels: string,
    names = '[{name: a}, {name: b}, {name: c}]',
  ): string =>
    `labels: ${names}\nproviders:\n  - {name: one, ${provider}, pools: [{name: main, labels: ${labels}}]}\n`;

  test.each([
    ['openstack, in seconds between requests', 'cloud: x, rate: 0.5', 2],
    ['openstack, more than a second', 'driver: openstack, rate: 4', 0.25],
    ['aws, in requests a second', 'driver: aws, rate: 0.5', 0.5],
    ['aws, more than one', 'driver: aws, rate: 8', 8],
  ])('has the rate of %s', async (_what, provider, ratePerSecond) => {
    const { accounts, remarks } = taken(
      withProvider(`${provider}, max-concurrency: 7`, '[{name: a, flavor-name: f, cloud-image: i}]'),
    );
    expect(accounts).toMatchObject({ one: { limits: { ratePerSecond, concurrency: 7 } } });
    expect(remarks.map(formatProblem)).toContainEqual(
      expect.stringContaining(`Written: providers.one.limits.ratePerSecond: ${ratePerSecond}.`),
    );
  });

  test('has different hardware for labels that ask for different memory', () => {
    const labels =
      '[{name: a, min-ram: 2048, cloud-image: i}, {name: b, min-ram: 8192, cloud-image: i}, {name: c, min-ram: 8192, flavor-name: fast, cloud-image: i}]';
    const { pools, remarks } = taken(withProvider('cloud: x', labels));
    expect(pools).toMatchObject({
      pools: {
        ci: {
          providerPools: {
            'one-main': {
              labels: {
                a: { hardware: 'ram-2048' },
                b: { hardware: 'ram-8192' },
                c: { hardware: 'fast ram-8192' },
              },
            },
          },
        },
      },
    });
    const said = remarks.map(formatProblem).filter((line) => line.includes('min-ram'));
    expect(said).toHaveLength(3);
    expect(said[2]).toContain('whose name contains "fast"');
  });
});

describe('a nodepool.yaml with the driver metastatic', () => {
  const file = (backing: string): string => `labels: [{name: large}, {name: slice}, {name: other}]
providers:
  - name: meta
    driver: metastatic
    boot-timeout: 10
    pools:
      - name: main
        max-servers: 10
        node-attributes: {a: b}
        labels:
          - {name: slice, backing-label: large, max-parallel-jobs: 4, grace-time: 30, max-age: 3600, min-retention-time: 600}
          - {name: other, backing-label: absent}
  - ${backing}
`;

  test('has its labels in the provider pools of their machines, with slots', () => {
    const { pools, remarks } = taken(
      file(
        'name: cloud\n    cloud: x\n    pools: [{name: main, max-servers: 5, labels: [{name: large, flavor-name: big, cloud-image: i}]}]',
      ),
    );
    expect(pools).toMatchObject({
      pools: {
        ci: {
          labels: { large: {}, slice: {} },
          providerPools: {
            'cloud-main': {
              limits: { nodes: 5 },
              labels: {
                large: expect.not.objectContaining({ slots: 4 }),
                slice: { hardware: 'big', image: 'i', slots: 4, minRetention: 30, maxAge: 3_600 },
              },
            },
          },
        },
      },
    });
    expect(readPoolsFile(stringify(pools), 'pools.yaml').ok).toBe(true);
    const said = remarks.map(formatProblem);
    for (const about of [
      'providers[0].boot-timeout: has no counterpart',
      'pools[0].max-servers: has no counterpart',
      'pools[0].node-attributes: has no counterpart',
      'labels[0].min-retention-time: has no counterpart',
      'labels[1].backing-label: no imported provider serves absent, so label other is omitted here',
      'labels[2].name: no imported provider serves label other',
    ])
      expect(
        said.filter((line) => line.includes(about)),
        about,
      ).toHaveLength(1);
  });

  test('leaves out labels on existing machines, and says what to write', () => {
    const { pools, remarks } = taken(
      file(
        'name: rack\n    driver: static\n    pools: [{name: main, nodes: [{name: 127.1.1.1, labels: large}]}]',
      ),
    );
    expect(pools).toMatchObject({
      pools: { ci: { labels: { large: {} }, providerPools: { 'rack-main': { labels: { large: {} } } } } },
    });
    expect(remarks.map(formatProblem)).toContainEqual(
      expect.stringContaining(
        'Set slots: 4 for them in the account rack-main, and add the label to its provider pool.',
      ),
    );
  });
});

describe('a nodepool.yaml for builders alone', () => {
  const builders = `labels: []
providers:
  - {name: east, cloud: east, region-name: east, diskimages: [{name: jammy}]}
  - {name: amazon, driver: aws, region-name: eu-central-1, diskimages: [{name: jammy}, {name: noble}]}
  - {name: azure, driver: azure, diskimages: [{name: jammy}]}
diskimages:
  - {name: jammy, elements: [vm, ubuntu], release: jammy}
  - {name: noble, elements: [vm, ubuntu], release: noble}
`;

  test('becomes image files that are uploaded to the providers that list them', () => {
    const { pools, accounts, images, remarks } = taken(builders);
    expect(pools).toEqual({ pools: {} });
    expect(Object.keys(accounts)).toEqual(['east', 'amazon']);
    expect(images).toMatchObject({
      jammy: {
        command: { environment: { ELEMENTS: 'vm ubuntu', DIB_RELEASE: 'jammy' }, formats: ['qcow2', 'raw'] },
        uploads: [
          { provider: 'east', format: 'qcow2' },
          { provider: 'amazon', format: 'raw' },
        ],
        validate: false,
      },
      noble: { uploads: [{ provider: 'amazon', format: 'raw' }] },
    });
    for (const image of Object.values(images))
      expect(readImageFile(stringify(image), 'image.yaml')).toMatchObject({ ok: true });
    expect(remarks.map(formatProblem)).toContainEqual(
      expect.stringContaining('providers of driver azure are not imported') as string,
    );
  });

  test('needs neither labels nor providers', () => {
    expect(taken('diskimages: [{name: jammy, elements: [vm]}]').images).toMatchObject({
      jammy: { uploads: [], validate: false },
    });
  });

  test('is refused without a diskimage that is built', () => {
    const reading = read('providers: [{name: a}]\ndiskimages: [{name: base, abstract: true}]');
    expect(reading.ok ? '' : reading.problems.map(formatProblem).join('\n')).toMatch(
      /nodepool\.yaml:1:1: labels: is missing/,
    );
  });
});
