import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { notify } from '../../src/activities/reservation/notify.js';
import {
  childEnvironment,
  secretCommandEnvironment,
  workerEnvironment,
} from '../../src/config/child-environment.js';
import { runDetached } from '../../src/detached/detached-run.js';
import { runTool } from '../../src/plugins/automators/ansible/tool.js';
import { runCommand } from '../../src/plugins/bare-metal/run-command.js';
import { Virsh } from '../../src/plugins/providers/libvirt/virsh.js';
import { resolveSecrets } from '../../src/secrets/reference.js';
import { launch } from '../../src/server/launch.js';
import { readBinaryVersion } from '../../src/server/version.js';
import { configSchema } from '../../src/schema/config.js';
import { exec } from '../harness/local/ssh.js';
import { TestService } from '../harness/local/service.js';
import { openPrograms, providerDescriptor } from '../harness/programs/bench.js';
import { newFolder } from '../harness/folder.js';

/** What the environment of a worker holds. Each value says by which name it leaked. */
const credentials = {
  HEDDLE_KEYS: 'leak:heddle-keys',
  HEDDLE_CODEC_TOKEN: 'leak:codec-token',
  TEMPORAL_API_KEY: 'leak:api-key',
  TEMPORAL_TLS_CLIENT_KEY_DATA: 'leak:tls',
  VAULT_TOKEN: 'leak:vault',
  AWS_SECRET_ACCESS_KEY: 'leak:aws',
  DB_PASSWORD: 'leak:env-reference',
} as const;

let folder: string;
/** A program that writes the whole environment it was started with to the file beside it. */
let printer: string;

beforeAll(async () => {
  folder = newFolder();
  printer = join(folder, 'print');
  await writeFile(
    printer,
    '#!/bin/sh\nenv > "$(dirname "$0")/printed.part"; mv "$(dirname "$0")/printed.part" "$(dirname "$0")/printed"\necho "temporal version 1.0.0 (Server 9.9.9)"\n',
  );
  await chmod(printer, 0o755);
});
beforeEach(() => {
  for (const [name, value] of Object.entries(credentials)) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(join(folder, 'printed'), { force: true });
});

const printed = (): Promise<string> => readFile(join(folder, 'printed'), 'utf8');
const signal = AbortSignal.timeout(600_000);
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

// Promise: child-environment
describe('a program that Heddle starts gets no credential of the worker', () => {
  const kinds: readonly (readonly [string, () => Promise<unknown>])[] = [
    [
      'a command that is notified of reservations',
      () =>
        notify(
          { settings: configSchema.parse({ reservations: { notify: { command: [printer] } } }), log },
          {
            id: 'u/r/ready/1',
            event: 'ready',
            at: '2026-07-01T09:00:00.000Z',
            text: 'ready',
            reservation: {
              id: 'r',
              user: 'ada',
              image: 'web@2',
              from: '2026-07-01T09:00:00.000Z',
              to: '2026-07-01T11:00:00.000Z',
              machines: [],
            },
          },
        ),
    ],
    [
      'a program of a server or machine service',
      async () => {
        const child = await launch(printer, [], { logFile: join(folder, 'launch.log') });
        await child.ended;
      },
    ],
    ['a Temporal CLI that is asked for its version', () => readBinaryVersion(printer)],
    [
      'a tool of the ansible automator',
      () =>
        runTool({ program: printer, words: [], folder, environment: {}, onEvent: () => undefined, signal }),
    ],
    ['a command of a bare metal provider', () => runCommand([printer], { signal })],
    [
      'virsh',
      () =>
        new Virsh({ uri: 'test:///', program: printer }, signal, { take: () => Promise.resolve() } as never)
          .run([])
          .catch(() => undefined),
    ],
    [
      'a program that outlives the worker',
      () =>
        runDetached({
          folder: join(folder, 'detached'),
          what: 'print',
          token: 't',
          program: () => ({ words: [printer], environment: {} }),
          isAnswer: () => true,
          signal,
          detach: undefined,
        }),
    ],
  ];

  it.each(kinds)('%s', async (_, start) => {
    await start();
    const environment = await printed();
    expect(environment).toContain('PATH=');
    expect(environment).not.toContain('leak:');
  });

  it('a plugin program, regardless of its descriptor', async () => {
    const script =
      '#!/bin/sh\nread -r task\nprintf \'{"status": 0, "result": {"providerid": "m", "names": "%s"}}\' "$(env | tr \'\\n\' \' \')"\n';
    const bench = await openPrograms(
      { 'providers/p/p.sh': script, 'providers/p/p.json': providerDescriptor({ command: ['./p.sh'] }) },
      { environment: credentials },
    );
    try {
      const { result } = await bench.run('CREATE', 'good');
      expect(JSON.stringify(result)).toContain('PATH=');
      expect(JSON.stringify(result)).not.toContain('leak:');
    } finally {
      await bench.close();
    }
  });

  it('a command on a machine of the machine service', async () => {
    const service = await TestService.start(['--kind', 'directory']);
    const { stdout } = await exec(await service.createRunning(), 'env');
    expect(stdout).toContain('PATH=');
    expect(stdout).not.toContain('leak:');
  });

  it('a command in an exec: reference gets the variables of its own tool, and none of Heddle or Temporal', async () => {
    const { value } = await resolveSecrets(
      { secret: 'exec:env' },
      { environment: { PATH: '/usr/bin:/bin', ...credentials } },
      { writtenBy: 'administrator', place: 'a test' },
    );
    const names = typeof value === 'string' ? value.split('\n').map((line) => line.split('=')[0]) : [];
    expect(new Set(names)).toEqual(new Set(['AWS_SECRET_ACCESS_KEY', 'DB_PASSWORD', 'PATH', 'VAULT_TOKEN']));
  });
});

describe('childEnvironment', () => {
  it('passes on PATH, HOME, LANG and named variables; explicit values take precedence', () => {
    const from = { PATH: '/bin', HOME: '/root', LANG: 'C', TZ: 'UTC', OTHER: 'x', UNSET: undefined };
    expect(childEnvironment({ from })).toEqual({ PATH: '/bin', HOME: '/root', LANG: 'C' });
    expect(
      childEnvironment({ from, pass: ['TZ', 'UNSET', 'ABSENT', 'toString'], set: { HOME: '/tmp' } }),
    ).toEqual({ PATH: '/bin', HOME: '/tmp', LANG: 'C', TZ: 'UTC' });
  });

  it('passes on no credential of Heddle or Temporal, even if it is named', () => {
    expect(childEnvironment({ from: credentials, pass: Object.keys(credentials) })).toEqual({
      VAULT_TOKEN: 'leak:vault',
      AWS_SECRET_ACCESS_KEY: 'leak:aws',
      DB_PASSWORD: 'leak:env-reference',
    });
    expect(Object.keys(secretCommandEnvironment(credentials))).toEqual([
      'VAULT_TOKEN',
      'AWS_SECRET_ACCESS_KEY',
      'DB_PASSWORD',
    ]);
  });

  it('leaves a worker its whole environment', () => {
    expect(workerEnvironment({ ...credentials, UNSET: undefined }, { TEMPORAL_API_KEY: 'other' })).toEqual({
      ...credentials,
      TEMPORAL_API_KEY: 'other',
      MALLOC_ARENA_MAX: '2',
    });
    expect(workerEnvironment({ MALLOC_ARENA_MAX: '8' }, {})).toEqual({ MALLOC_ARENA_MAX: '8' });
  });
});
