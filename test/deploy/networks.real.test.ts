import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { createBody, type Machine } from '../harness/local/service.js';
import { builtService } from '../harness/local/build.js';
import { makeKeyPair } from '../harness/local/ssh.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

/**
 * Services whose networks are built here as Docker would build them: a bridge for each network, and no way
 * from one to another.
 */
const stood = ['temporal', 'machines', 'worker'] as const;
type Stood = (typeof stood)[number];

const root = join(import.meta.dirname, '..', '..');
const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, { readonly networks: readonly string[] | object }>>;
};
const networksOf = (service: Stood): readonly string[] => {
  const { networks = [] } = services[service] ?? {};
  return Array.isArray(networks) ? (networks as readonly string[]) : Object.keys(networks);
};
const networks = [...new Set(stood.flatMap(networksOf))];

const space = (name: string): string => `heddle-${process.pid}-${name}`;
const addressOf = (service: Stood, network: string): string => {
  const prefix = network === 'machines' ? '172.31.253' : `10.213.${networks.indexOf(network)}`;
  return `${prefix}.${service === 'machines' ? 2 : 10 + stood.indexOf(service)}`;
};
const ip = (...words: readonly string[]): void => {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'inherit'] });
};
const inside = (service: Stood, program: string, ...words: readonly string[]) =>
  spawnSync('ip', ['netns', 'exec', space(service), program, ...words], { encoding: 'utf8' });
const connectTo = (address: string, port: number): readonly string[] => [
  'bash',
  '-c',
  `exec 3<>/dev/tcp/${address}/${port}`,
];
const reaches = (from: Stood, address: string, port: number): boolean => {
  const [program = '', ...words] = connectTo(address, port);
  return inside(from, program, ...words).status === 0;
};

const isRoot = process.getuid?.() === 0 && spawnSync('ip', ['netns', 'add', space('trial')]).status === 0;

describe.runIf(isRoot)('the networks of the container stack', () => {
  const children: ChildProcess[] = [];
  const key = makeKeyPair();
  let folder: string;
  let machine: Machine;

  beforeAll(async () => {
    folder = newFolder();
    buildNetworks();
    start(
      'temporal',
      inject('temporalBinary'),
      'server',
      'start-dev',
      '--headless',
      '--ip',
      '0.0.0.0',
      '--db-filename',
      join(folder, 'temporal.db'),
      '--log-level',
      'error',
    );
    const service = start(
      'machines',
      process.execPath,
      builtService(),
      '--data',
      join(folder, 'machines'),
      '--kind',
      'directory',
      '--address',
      addressOf('machines', 'machines'),
      '--port',
      '7300',
    );
    if (service.stdout === null) throw new Error('the machine service has no output');
    await createInterface({ input: service.stdout })[Symbol.asyncIterator]().next();
    await until('the Temporal server, from the worker', () =>
      networksOf('temporal').some((network) => reaches('worker', addressOf('temporal', network), 7233)),
    );
    const made = api('POST', '/v1/machines', createBody({ publicKeys: [key.public] })) as {
      readonly id: string;
    };
    machine = await until('a machine that runs', () => {
      const found = api('GET', `/v1/machines/${made.id}`) as Machine;
      return found.state === 'running' && found;
    });
  });

  afterAll(async () => {
    for (const child of children.toReversed()) {
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await ended;
    }
    for (const name of [...stood, ...networks.map((network) => `net-${network}`), 'trial'])
      ip('netns', 'del', space(name));
  });

  function start(service: Stood, program: string, ...words: readonly string[]): ChildProcess {
    // `ip netns exec` becomes the program.
    const child = spawn('ip', ['netns', 'exec', space(service), program, ...words], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    return child;
  }

  /** Asks the machine service from where the worker is. */
  function api(method: string, path: string, body?: object): unknown {
    const apiKey = readFileSync(join(folder, 'machines', 'api-key'), 'utf8').trim();
    const url = `http://${addressOf('machines', 'machines')}:7300${path}`;
    const options = {
      method,
      headers: { authorization: `Bearer ${apiKey}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    const { stdout, stderr } = inside(
      'worker',
      process.execPath,
      '-e',
      `fetch(${JSON.stringify(url)}, ${JSON.stringify(options)}).then((r) => r.text()).then(console.log)`,
    );
    if (stderr !== '') throw new Error(stderr);
    return JSON.parse(stdout);
  }

  /** Runs a command on the machine, by SSH from the worker. */
  function onMachine(command: readonly string[]): {
    readonly status: number | null;
    readonly stderr: string;
  } {
    const knownHosts = join(folder, 'known_hosts');
    writeFileSync(knownHosts, `[${machine.address}]:${machine.port} ${machine.hostKey}\n`);
    const options = [
      'StrictHostKeyChecking=yes',
      `UserKnownHostsFile="${knownHosts}"`,
      'GlobalKnownHostsFile=none',
      'BatchMode=yes',
      'IdentitiesOnly=yes',
      'LogLevel=ERROR',
    ];
    const words = [
      '-F',
      'none',
      ...options.flatMap((option) => ['-o', option]),
      '-i',
      key.file,
      '-p',
      String(machine.port),
      `${machine.user}@${machine.address}`,
    ];
    return inside('worker', 'ssh', ...words, ...command.map((word) => `'${word}'`));
  }

  it('let the worker reach the Temporal server and the machines', () => {
    expect(networksOf('temporal').filter((network) => networksOf('worker').includes(network))).not.toEqual(
      [],
    );
    expect(machine.address).toBe(addressOf('machines', 'machines'));
    expect(onMachine(['true'])).toMatchObject({ status: 0 });
  });

  it('let no command on a machine reach the Temporal server at any of its addresses', () => {
    // The same command succeeds at an address that the machine reaches: its own service.
    expect(onMachine(connectTo(addressOf('machines', 'machines'), 7300))).toMatchObject({ status: 0 });
    for (const network of networksOf('temporal')) {
      const { status, stderr } = onMachine(connectTo(addressOf('temporal', network), 7233));
      expect(status).not.toBe(0);
      expect(stderr).toMatch(/Network is unreachable|No route to host|Connection timed out/);
    }
  });

  it('let no command on a machine reach a port of the Temporal server through the worker', () => {
    expect(onMachine(connectTo(addressOf('worker', 'machines'), 7233))).toMatchObject({
      stderr: expect.stringContaining('Connection refused') as string,
    });
  });

  function buildNetworks(): void {
    for (const service of stood) {
      ip('netns', 'add', space(service));
      ip('-n', space(service), 'link', 'set', 'lo', 'up');
    }
    for (const [index, network] of networks.entries()) {
      ip('netns', 'add', space(`net-${network}`));
      ip('-n', space(`net-${network}`), 'link', 'add', 'bridge', 'type', 'bridge');
      ip('-n', space(`net-${network}`), 'link', 'set', 'bridge', 'up');
      for (const service of stood.filter((candidate) => networksOf(candidate).includes(network))) {
        ip(
          '-n',
          space(service),
          'link',
          'add',
          `eth${index}`,
          'type',
          'veth',
          'peer',
          'name',
          service,
          'netns',
          space(`net-${network}`),
        );
        ip('-n', space(`net-${network}`), 'link', 'set', service, 'master', 'bridge', 'up');
        ip('-n', space(service), 'address', 'add', `${addressOf(service, network)}/24`, 'dev', `eth${index}`);
        ip('-n', space(service), 'link', 'set', `eth${index}`, 'up');
      }
    }
  }
});
