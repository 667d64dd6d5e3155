import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../src/model/json.js';
import { readErase, readMachines } from '../../../src/plugins/bare-metal/machine-fields.js';
import type { RealMachineFields } from '../../../src/plugins/bare-metal/field-types.js';
import { readImaging } from '../../../src/plugins/bare-metal/imaging/imaging-fields.js';
import type { Descriptor } from '../../../src/schema/descriptor.js';
import type { AwsFields } from '../../../src/plugins/providers/aws/field-types.js';
import { conflictsOf as awsConflicts } from '../../../src/plugins/providers/aws/fields.js';
import { choosePlace, makeLaunch } from '../../../src/plugins/providers/aws/launch.js';
import { makeContainer } from '../../../src/plugins/providers/docker/container.js';
import { DockerApi } from '../../../src/plugins/providers/docker/api.js';
import type { DockerFields } from '../../../src/plugins/providers/docker/field-types.js';
import { domainXml } from '../../../src/plugins/providers/libvirt/domain.js';
import { conflictsOf as libvirtConflicts } from '../../../src/plugins/providers/libvirt/fields.js';
import type { LibvirtFields } from '../../../src/plugins/providers/libvirt/field-types.js';
import { identify } from '../../../src/plugins/providers/libvirt/identity.js';
import { makeSeed } from '../../../src/plugins/providers/libvirt/seed.js';
import { conflictsOf as openstackConflicts } from '../../../src/plugins/providers/openstack/fields.js';
import type { OpenStackFields } from '../../../src/plugins/providers/openstack/field-types.js';
import { makeServer } from '../../../src/plugins/providers/openstack/openstack.js';
import { Session } from '../../../src/plugins/providers/openstack/session.js';
import type { ServiceFields } from '../../../src/plugins/providers/service/field-types.js';
import { faultsOfAccount, readResources } from '../../../src/plugins/providers/service/fields.js';
import type { StaticFields } from '../../../src/plugins/providers/static/field-types.js';
import { machineFaults, readAccount } from '../../../src/plugins/providers/static/machines.js';
import { IpmiProvider } from '../../../src/plugins/providers/ipmi/ipmi.js';
import { RedfishProvider } from '../../../src/plugins/providers/redfish/redfish.js';
import { checkDraft } from '../../../src/cli/account/check-draft.js';
import { fieldsOf, providerDescriptor } from '../../harness/plugins/fields.js';

type Rules = (fields: never) => ReturnType<NonNullable<Descriptor['rules']>>;

interface Provider {
  readonly name: string;
  readonly rules?: Rules;
  /** Valid fields, which a row changes one at a time. */
  readonly base: JsonObject;
  /** What the plugin does with the fields before its first call of the provider. */
  readonly read?: (fields: never) => unknown;
  /** Values that are accepted and refused, by field; a list of both for every declared field. */
  readonly rows: Readonly<Record<string, readonly [accepted: readonly Json[], refused: readonly Json[]]>>;
}

type Row = Provider['rows'][string];
const line: Row = [['a'], ['', 'a\nb', 1, []]];
const lines: Row = [
  [['a'], ['a', 'b']],
  [[], [''], [1], ['a\nb'], 'a'],
];
const keys: Row = [
  [[], ['ssh-ed25519 AAAA me']],
  [['a\nb'], [1], 'a'],
];
const port: Row = [
  [1, 22, 65_535],
  [0, 65_536, 1.5, '22'],
];
const flag: Row = [
  [true, false],
  ['yes', 1],
];
const secret: Row = [
  ['a', { secret: 'env:A' }],
  ['', 1, { secrets: 'a' }],
];
const hostKeySecret: Row = [['x'.repeat(24)], ['x'.repeat(23), '']];
const userData: Row = [
  ['#cloud-config\nx: 1', '#!/bin/sh\ntrue', ' \n'],
  ['echo', 1, '#cloudconfig'],
];
const url: Row = [['https://cloud.example.com/v3'], ['cloud.example.com', 'ftp://cloud.example.com', '']];
const command = (name: string): Row => [
  [{ [name]: ['x', ''] }, { [name]: ['x', { secret: 'env:A' }] }],
  [{ [name]: [] }, { [name]: 'x' }, { no: ['x'] }, { [name]: ['x', { secret: 'hunter2' }] }],
];
const input = {
  ...{ key: 'uid/app-1/1', token: 't', flavor: '2x1g', image: 'i', hostname: 'h', tags: {}, fields: {} },
};
const signal = AbortSignal.timeout(60_000);
const calls = { take: () => Promise.resolve() };
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const machines = [{ name: 'one', address: '10.0.0.1' }];
const wrongMachines: readonly Json[] = [
  [],
  [{ name: 'one' }],
  [{ name: 'one', address: '-o' }],
  [{ name: 'one', address: 'a', port: 0 }],
  [{ name: 'one', address: 'a', hostKey: 'x' }],
  [{ name: 'one', address: 'a', other: 1 }],
  [...machines, ...machines],
];

/** @param controller a valid controller of this provider. */
const realMachines = (rules: Rules, controller: JsonObject): Omit<Provider, 'name'> => ({
  rules,
  base: { machines, controllers: { one: controller } },
  read: async (fields: RealMachineFields) => {
    await readMachines(fields, 'rack', log);
    return [readErase(fields, 'rack'), readImaging(fields.imaging, 'rack')];
  },
  rows: {
    machines: [
      [machines],
      [
        ...wrongMachines,
        [
          { ...machines[0], mac: '52:54:00:aa:bb:07' },
          { name: 'two', address: 'a', mac: '52-54-00-AA-BB-07' },
        ],
        [{ name: { secret: 'env:A' }, address: 'a' }],
        [{ name: 'one', address: { secret: 'env:A' } }],
        [{ ...machines[0], password: { secret: 'hunter2' } }],
      ],
    ],
    controllers: [
      [{ one: controller, two: controller }, { one: { ...controller, password: { secret: 'env:A' } } }],
      [
        {},
        { two: controller },
        { one: 'x' },
        [],
        { one: {} },
        { one: { ...controller, other: 1 } },
        { one: { ...controller, password: 1 } },
        { one: { ...controller, password: { secret: 'hunter2' } } },
        { one: controller, two: {} },
      ],
    ],
    inventory: [[], ['', 'a\nb', 1]],
    groups: lines,
    imager: command('exists'),
    imaging: [
      [{}, { images: '/i', rescue: '/r', listen: '10.0.0.1:80' }],
      [{ images: '/i' }, { images: 'i', rescue: '/r', listen: '10.0.0.1:80' }, []],
    ],
    erase: [
      [[], [{ device: '/dev/sda', method: 'nvme' }]],
      [[{ device: 'sda', method: 'nvme' }], [{ device: '/dev/sda', method: 'command' }], [{}], {}],
    ],
    settleSeconds: [
      [0.1, 60],
      [0, '60'],
    ],
    shutDownSeconds: [[0], [-1]],
    readEveryMs: [[10], [9]],
    machine: line,
  },
});

const providers: readonly Provider[] = [
  {
    name: 'aws',
    rules: awsConflicts,
    base: { region: 'eu-central-1' },
    read: (fields: AwsFields) => [makeLaunch(input, fields, '/dev/sda1'), choosePlace(fields, input.key)],
    rows: {
      region: [['us-east-1'], ['', 'Frankfurt!', 'eu', 1]],
      accessKeyId: [[], ['a', '']],
      secretAccessKey: [[], ['a', '']],
      sessionToken: [[], ['a', '']],
      endpoint: url,
      insecure: flag,
      hostKeySecret,
      privateKey: secret,
      keyName: line,
      user: line,
      sshPort: port,
      subnets: lines,
      zones: lines,
      securityGroups: lines,
      publicAddress: flag,
      reachBy: [['public', 'private'], ['both']],
      imageArchitecture: [['x86_64', 'arm64'], ['arm']],
      instanceProfile: line,
      publicKeys: lines,
      userData,
      rootVolumeGb: [
        [1, 65_536],
        [0, 65_537, 1.5],
      ],
      rootVolumeType: [
        ['gp3', 'standard'],
        ['gp4', '', 3],
      ],
      rootVolumeEncrypted: flag,
      spot: flag,
      spotMaxPrice: [[], ['cheap', '0.05', 0.05]],
    },
  },
  {
    name: 'docker',
    base: {},
    read: (fields: DockerFields) => [makeContainer(input, fields), new DockerApi(fields, signal, calls)],
    rows: {
      endpoint: [
        ['unix:///run/podman.sock', 'http://127.0.0.1:2375', 'https://host:2376'],
        ['docker.sock', 'ftp://host', 'http://host:2375', 'unix:///'],
      ],
      insecure: flag,
      ca: [['PEM\nPEM'], ['', 1]],
      cert: [[], ['PEM', '']],
      key: [[], ['PEM', '']],
      privateKey: secret,
      publicKeys: keys,
      user: line,
      network: line,
      reachBy: [['network', 'port'], ['host']],
      address: line,
      init: flag,
      command: [[['/start', '-x\ny']], [[], [''], [1], '/start']],
      environment: [
        [{}, { A: 'x', B: 1, C: true }],
        [{ A: [] }, { 'a b': 'x' }, [], { A: { secret: 'env:A' } }],
      ],
    },
  },
  {
    name: 'libvirt',
    rules: libvirtConflicts,
    base: {},
    read: (fields: LibvirtFields) => [
      domainXml({
        ...{ identity: identify(input.key), input, fields, createdAt: '2026-01-01T00:00:00.000Z' },
        size: { cpus: 1, memoryMb: 1 },
      }),
      makeSeed(fields, { key: input.key, hostname: 'h', instance: 'i' }),
    ],
    rows: {
      uri: [
        ['qemu:///system', 'qemu+ssh://root@host/system?no_tty=1'],
        ['nowhere', 'qemu+tcp://host/system'],
      ],
      insecure: flag,
      program: line,
      pool: [['a.b+c:d@e-f'], ['', 'a b', '--all', 'a;b']],
      network: [['a'], ['', 'a b', "'"]],
      bridge: [['br0'], ['', 'a b']],
      hypervisor: [['kvm', 'qemu', 'test'], ['xen']],
      arch: [['aarch64'], ['', 'a b']],
      addressFrom: [['lease', 'agent', 'arp', 'fixed'], ['dns']],
      addresses: [
        [{}, { 'app-1': '10.0.0.1' }],
        [{ 'app-1': 1 }, { 'app-1': '' }, []],
      ],
      cloudInit: flag,
      hostKeySecret,
      privateKey: secret,
      publicKeys: keys,
      user: line,
      sshPort: port,
      libraries: [
        [[], ['a']],
        [['a b'], [1], 'a'],
      ],
      settleSeconds: [[0.1], [0]],
      shutDownSeconds: [[0], [-1]],
      readEveryMs: [[10], [9]],
      userData,
    },
  },
  {
    name: 'openstack',
    rules: openstackConflicts,
    base: { authUrl: 'https://x/v3', applicationCredentialId: 'i', applicationCredentialSecret: 's' },
    read: (fields: OpenStackFields) => [
      makeServer(input, fields, { flavorRef: 'f', imageRef: 'i' }),
      new Session(fields, signal, calls),
    ],
    rows: {
      authUrl: url,
      insecure: flag,
      applicationCredentialId: line,
      applicationCredentialSecret: secret,
      username: [[], ['u', '']],
      password: secret,
      project: line,
      userDomain: line,
      projectDomain: line,
      region: line,
      interface: [['public', 'internal', 'admin'], ['private']],
      gateway: flag,
      hostKeySecret,
      privateKey: secret,
      keyName: line,
      user: line,
      sshPort: port,
      networks: lines,
      securityGroups: lines,
      zones: lines,
      floatingNetwork: line,
      publicKeys: lines,
      userData,
      configDrive: flag,
      rootVolumeGb: [
        [1, 65_536],
        [0, 65_537, '1'],
      ],
    },
  },
  {
    name: 'static',
    rules: machineFaults,
    base: { machines },
    read: (fields: StaticFields) => readAccount(fields, 'rack', log),
    rows: {
      machines: [
        [machines, [{ name: 'one', address: 'a', agent: { secret: 'env:A' }, slots: 2 }]],
        [
          ...wrongMachines,
          [{ name: { secret: 'env:A' }, address: 'a' }],
          [{ name: 'one', address: { secret: 'env:A' } }],
          [{ ...machines[0], key: { secret: 'hunter2' } }],
        ],
      ],
      inventory: [[], ['', 'a\nb', 1]],
      groups: [[], [['a'], [], [''], 'a']],
      slots: [
        [1, 1_000],
        [0, 1_001, 1.5],
      ],
      liveness: [['none', 'ssh'], ['ping']],
      user: line,
      port,
      keyFile: line,
      agent: secret,
      knownHosts: line,
      programs: command('deleted'),
      machine: line,
    },
  },
  {
    name: 'service',
    rules: faultsOfAccount,
    base: {
      folder: '/srv',
      resources: [{ name: 'one' }],
      programs: { reach: ['x'], current: ['x'], capture: ['x'], load: ['x'] },
    },
    read: (fields: ServiceFields) => readResources(fields, 'services'),
    rows: {
      folder: [['/srv/images'], ['srv', '', 1]],
      resources: [
        [[{ name: 'one', flavor: 'f', environment: { A: 'x', B: 1 } }]],
        [
          [],
          [{}],
          [{ name: '-' }],
          [{ name: 'one', environment: { HEDDLE_A: 'x' } }],
          [{ name: 'a', b: 1 }],
          [{ name: 'a' }, { name: 'a' }],
        ],
      ],
      programs: [
        [],
        [
          {},
          { reach: ['x'] },
          { reach: ['x', { secret: 'A' }] },
          { reach: 'x', current: ['x'], capture: ['x'], load: ['x'] },
          { other: ['x'] },
        ],
      ],
      resource: line,
    },
  },
  { name: 'ipmi', ...realMachines(IpmiProvider.checkFields, { host: '10.0.0.2', user: 'u', password: 'p' }) },
  { name: 'redfish', ...realMachines(RedfishProvider.checkFields, { url: 'https://10.0.0.2' }) },
  {
    name: 'local',
    base: { endpoint: 'http://127.0.0.1:1', apiKey: 'k' },
    rows: { endpoint: [['https://x'], ['x', 1]], insecure: flag, apiKey: secret, publicKeys: keys },
  },
  {
    name: 'example',
    base: { endpoint: 'http://127.0.0.1:1', apiKey: 'k' },
    rows: { endpoint: [['https://x'], ['x', 1]], insecure: flag, apiKey: secret, volumeGb: [[1], [0, '1']] },
  },
  {
    name: 'pool',
    base: { pool: 'p' },
    rows: {
      pool: line,
      tenant: line,
      providerPool: line,
      priority: [
        [-1, 100],
        [1.5, '1'],
      ],
    },
  },
];

describe.each(providers)('the fields of provider $name', ({ name, rules, base, rows, read }) => {
  const open = (fields: JsonObject): never => fieldsOf(name, fields, rules as never) as never;

  test('are all tried', () => {
    const { fields } = providerDescriptor(name);
    expect(Object.keys({ ...fields?.admin, ...fields?.user }).toSorted()).toEqual(
      Object.keys(rows).toSorted(),
    );
  });

  test.each(
    Object.entries(rows).flatMap(([key, [accepted]]) => accepted.map((value) => [key, value] as const)),
  )('%s: %j is accepted, and by the plugin', async (key, value) => {
    const written = { ...base, [key]: value };
    const fields = open(written);
    expect(fields[key as never]).toBeDefined();
    await read?.(fields);
  });

  test.each(
    Object.entries(rows).flatMap(([key, [, refused]]) => refused.map((value) => [key, value] as const)),
  )('%s: %j is refused before the plugin is called, and as a draft of an account', async (key, value) => {
    const written = { ...base, [key]: value };
    expect(() => open(written)).toThrow();
    const descriptor = { ...providerDescriptor(name), rules: rules as Descriptor['rules'] };
    if (!Object.hasOwn(descriptor.fields?.admin ?? {}, key)) return;
    const draft = { name: 'account', type: name, fields: written };
    expect(checkDraft({ descriptors: [descriptor] }, draft)).not.toEqual([]);
  });
});
