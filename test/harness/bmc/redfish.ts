import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.js';
import { until } from '../until.js';
import { emulatorProgram } from './racks.js';

/** Why the emulator cannot be used here; undefined where it can. */
export const noRedfish =
  existsSync(emulatorProgram('sushy-emulator')) && existsSync('/usr/bin/openssl')
    ? undefined
    : 'npm run setup:extras has not been run, or there is no openssl';

export interface RedfishService {
  readonly url: string;
  /** PEM of the authority of its certificate. */
  readonly ca: string;
  /** How many it got. */
  requests(): number;
  /** Stops answering until `go`. */
  hang(): void;
  go(): void;
  stop(): Promise<void>;
}

const uuidOf = (index: number): string => `00000000-0000-4000-8000-00000000000${index}`;

/**
 * Sushy's emulator with systems that switch late, as hardware does; TLS, and the user admin with the password
 * secret.
 */
export async function startRedfish(
  systems: readonly {
    readonly name: string;
    readonly power: 'On' | 'Off';
    /** Hardware addresses of network interfaces. */
    readonly macs?: readonly string[];
    /** Names of 1 TB disks, in one storage controller. */
    readonly disks?: readonly string[];
  }[],
): Promise<RedfishService> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-redfish-'));
  const [key, certificate, users, config] = ['key.pem', 'certificate.pem', 'users', 'emulator.conf'].map(
    (name) => join(folder, name),
  ) as [string, string, string, string];
  const made = spawnSync('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=127.0.0.1',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-keyout',
    key,
    '-out',
    certificate,
  ]);
  if (made.status !== 0) throw new Error(`openssl made no certificate: ${made.stderr.toString()}`);
  const hash = spawnSync(emulatorProgram('python'), [
    '-c',
    'import bcrypt; print(bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode())',
  ])
    .stdout.toString()
    .trim();
  await writeFile(users, `admin:${hash}\n`);
  const port = await freePort();
  const list = systems.map(
    ({ name, power, macs = [] }, index) =>
      `{'uuid': '${uuidOf(index)}', 'name': '${name}', 'power_state': '${power}', 'external_notifier': False, 'nics': [${macs.map((mac) => `{'mac': '${mac}', 'ip': '127.0.0.1'}`).join(', ')}]}`,
  );
  const storage = systems.map(
    ({ disks = [] }, index) =>
      `'${uuidOf(index)}': [{'Id': '1', 'Name': 'storage', 'StorageControllers': [], 'Drives': [${disks.map((disk) => `'${disk}'`).join(', ')}]}]`,
  );
  const drives = systems.map(
    ({ disks = [] }, index) =>
      `('${uuidOf(index)}', '1'): [${disks.map((disk) => `{'Id': '${disk}', 'Name': '${disk}', 'CapacityBytes': 10 ** 12, 'Protocol': 'SAS'}`).join(', ')}]`,
  );
  await writeFile(
    config,
    [
      'SUSHY_EMULATOR_FEATURE_SET = "full"',
      `SUSHY_EMULATOR_STATE_DIR = '${folder}'`,
      'SUSHY_EMULATOR_FAKE_DRIVER = True',
      `SUSHY_EMULATOR_AUTH_FILE = '${users}'`,
      `SUSHY_EMULATOR_FAKE_SYSTEMS = [${list.join(', ')}]`,
      `SUSHY_EMULATOR_STORAGE = {${storage.join(', ')}}`,
      `SUSHY_EMULATOR_DRIVES = {${drives.join(', ')}}`,
      '',
    ].join('\n'),
  );
  const child = spawn(
    emulatorProgram('sushy-emulator'),
    [
      '--config',
      config,
      '--fake',
      '-i',
      '127.0.0.1',
      '-p',
      String(port),
      '--ssl-certificate',
      certificate,
      '--ssl-key',
      key,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  const read = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  await until('the Redfish emulator listens', () => {
    if (child.exitCode !== null) throw new Error(`the emulator ended with ${child.exitCode}:\n${output}`);
    return output.includes('Running on');
  });
  return {
    url: `https://127.0.0.1:${port}`,
    ca: await readFile(certificate, 'utf8'),
    // A colour stands before those that it refused or redirected.
    requests: () => [...output.matchAll(/"\S*(?:GET|POST|PATCH) \S+ HTTP/g)].length,
    hang: () => {
      child.kill('SIGSTOP');
    },
    go: () => {
      child.kill('SIGCONT');
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
