import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { loadConfig } from '../../src/config/index.js';
import { makeMachines } from '../harness/bmc/racks.js';
import { noRedfish, startRedfish, type RedfishService } from '../harness/bmc/redfish.js';
import { newFolder } from '../harness/folder.js';
import { publicLine } from '../harness/ssh-server.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { startEc2, type Ec2Front } from '../plugins/providers/aws/support/front.js';
import { motoIsMissing } from '../plugins/providers/aws/support/moto.js';
import { podmanIsMissing, startPodman, type Podman } from '../plugins/providers/docker/support/podman.js';

const program = join(import.meta.dirname, '../../tools/live-check.mjs');
const folder = newFolder();
const keyFile = join(folder, 'key');
const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'sec1', format: 'pem' })
  .toString();
writeFileSync(keyFile, key, { mode: 0o600 });
const privateKey = { secret: `file:${keyFile}` };

interface Check {
  readonly output: () => string;
  readonly interrupt: () => void;
  readonly ended: Promise<{ readonly code: unknown; readonly report: string }>;
}

function check(name: string, account: object, ...words: readonly string[]): Check {
  const config = join(folder, `${name}.yaml`);
  const report = join(folder, `${name}.md`);
  writeFileSync(config, JSON.stringify({ providers: { [name]: account } }), { mode: 0o600 });
  const child = spawn(
    process.execPath,
    [program, '--config', config, '--account', name, '--report', report, ...words],
    {
      cwd: folder,
      env: { ...loadConfig().environment, HOME: folder, TEMPORAL_CLI: inject('temporalBinary') },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(child, 'close').then(([code]) => ({
    code,
    report: existsSync(report) ? readFileSync(report, 'utf8') : output,
  }));
  return { output: () => output, interrupt: () => child.kill('SIGINT'), ended };
}

describe.skipIf(podmanIsMissing() !== undefined)('the live check of an account of provider docker', () => {
  let podman: Podman;
  let account: object;
  beforeAll(async () => {
    podman = await startPodman();
    account = {
      type: 'docker',
      fields: {
        endpoint: `unix://${podman.socket}`,
        network: podman.network,
        privateKey,
        publicKeys: [publicLine(key)],
      },
      hardware: { small: '0.5x256m' },
      images: { debian: podman.image },
      hostKeys: 'provided',
    };
  });
  afterAll(() => podman?.close());
  const containers = (): string => podman.run('ps', '--all', '--quiet');

  test('runs all its steps, writes a report, and leaves nothing', async () => {
    const { code, report } = await check('docker', account).ended;
    expect(report).toContain('| a node is replaced | passed |');
    expect(report).toContain('Left in the account: nothing');
    expect(report).not.toContain('| failed |');
    expect(code).toBe(0);
    expect(containers()).toBe('');
  });

  test('deletes the machines also after Ctrl-C', async () => {
    const running = check('interrupted', account);
    await until('a machine', () => containers() !== '');
    running.interrupt();
    const { code, report } = await running.ended;
    expect(report).toContain('| clean-up | passed |');
    expect(report).toContain('Left in the account: nothing');
    expect(code).toBe(130);
    expect(containers()).toBe('');
  });
});

describe.skipIf(motoIsMissing() !== undefined)('the live check of an account of provider aws', () => {
  let ec2: Ec2Front;
  beforeAll(async () => {
    ec2 = await startEc2();
  });
  afterAll(() => ec2?.close());

  test('reports what failed, and deletes the machines', async () => {
    const account = {
      type: 'aws',
      fields: {
        region: 'us-east-1',
        endpoint: ec2.endpoint,
        accessKeyId: ec2.accessKeyId,
        secretAccessKey: 'not-looked-at',
        hostKeySecret: 'long-enough'.repeat(4),
        privateKey,
        sshPort: ec2.sshPort,
        zones: ['us-east-1a', 'us-east-1b'],
      },
      hardware: { small: 't3.micro' },
      images: { debian: 'ami-1e749f67' },
      hostKeys: 'provided',
    };
    const fields = JSON.stringify({ publicKeys: [publicLine(key)] });
    const { code, report } = await check('aws', account, '--fields', fields, '--power', 'switch').ended;
    expect(report).toContain('| a cluster is created | passed |');
    expect(report).toMatch(
      /\| power off \| failed \| .* \| heddle machine ended with 1: .* does not support POWER_OFF/,
    );
    expect(report).not.toContain('| a node is replaced |');
    expect(report).toContain('| clean-up | passed |');
    expect(report).toContain('Left in the account: nothing');
    expect(code).toBe(1);
  });
});

describe.skipIf(noRedfish !== undefined)('the live check of an account of provider redfish', () => {
  let redfish: RedfishService;
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    redfish = await startRedfish([
      { name: 'one', power: 'On' },
      { name: 'two', power: 'On' },
    ]);
  });
  afterAll(() => redfish?.stop());

  test('reads the power of a machine, and returns the machines', async () => {
    const made = await makeMachines(stack.service, ['one', 'two']);
    const controllers = made.map(({ name: system }) => [
      system,
      { url: redfish.url, ca: redfish.ca, system, user: 'admin', password: 'secret' },
    ]);
    const account = {
      type: 'redfish',
      fields: {
        machines: made.map(({ id: _id, ...machine }) => machine),
        controllers: Object.fromEntries(controllers),
      },
    };
    const { code, report } = await check('redfish', account, '--count', '1', '--power', 'read').ended;
    expect(report).toContain('| power status | passed |');
    expect(report).toContain('Left in the account: nothing');
    expect(report).not.toContain('| failed |');
    expect(code).toBe(0);
  });
});
