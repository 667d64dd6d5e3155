import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeHostKey } from '../../../../src/plugins/cloud-init/host-key.js';
import { makeUserData } from '../../../../src/plugins/cloud-init/user-data.js';
import { loadRegistry, type Registry } from '../../../../src/plugins/registry.js';

const folder = join(import.meta.dirname, '../../../../src/plugins/providers/libcloud');
const secret = 'host-key-secret-of-the-tests-0123456789';
const key = '0b8d8a2e/app-1/1';

/** What an expression in the provider's Python gives. */
function evaluate(module: string, expression: string): unknown {
  const code = `import json, sys; sys.path.insert(0, ${JSON.stringify(folder)}); from ${module} import *; print(json.dumps(${expression}))`;
  return JSON.parse(execFileSync('python3', ['-B', '-c', code], { encoding: 'utf8' }));
}

const copies = join(tmpdir(), `heddle-copies-${randomUUID()}`);
let registry: Registry;
beforeAll(async () => {
  registry = await loadRegistry({ folders: [], copyTo: copies, log: { info: () => undefined } });
});
afterAll(() => registry.close());

describe('a built-in program', () => {
  test('is registered with the abilities of its descriptor, and runs from its own folder', () => {
    expect(registry.provider('libcloud')).toMatchObject({
      abilities: [
        'list',
        'find',
        'offers',
        'consoleOutput',
        'powerStatus',
        'powerOn',
        'powerOff',
        'powerReset',
      ],
      folder,
    });
    expect(existsSync(copies)).toBe(false);
  });
});

describe('provider libcloud', () => {
  test('answers without Python that Python is missing', () => {
    const script = join(folder, 'start.sh');
    const answer = execFileSync('/bin/sh', [script], { env: { PATH: '/nowhere' }, encoding: 'utf8' });
    expect(JSON.parse(answer)).toMatchObject({
      status: 1,
      error: { kind: 'Invalid', message: expect.stringContaining('needs python3') },
    });
  });

  test('answers without Libcloud with the commands that install it', () => {
    const task = {
      call: 'find',
      input: { key },
      provider: { fields: { driver: 'ec2', venv: '/no/such/environment' } },
    };
    const answer = execFileSync('sh', ['./start.sh'], {
      cwd: folder,
      input: `${JSON.stringify(task)}\n`,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', PYTHONDONTWRITEBYTECODE: '1' },
      encoding: 'utf8',
    });
    expect(JSON.parse(answer)).toMatchObject({
      status: 1,
      error: {
        kind: 'Invalid',
        message: expect.stringContaining(
          '/no/such/environment/bin/pip install --only-binary :all: --require-hashes -r ',
        ),
      },
    });
  });

  test('makes the same host keys and user data as the providers in TypeScript', () => {
    const hostKey = makeHostKey(secret, key);
    const made = evaluate('cloud_init', `make_host_key("${secret}", "${key}")`);
    expect(made).toEqual([hostKey.public, hostKey.private]);
    const publicKeys = ['ssh-ed25519 AAAA söme one'];
    for (const own of [undefined, '#!/bin/sh\necho own\n', '#cloud-config\npackages: [nginx]']) {
      const given = own === undefined ? 'None' : JSON.stringify(own);
      expect(
        evaluate(
          'cloud_init',
          `make_user_data("web-1", make_host_key("${secret}", "${key}"), ${JSON.stringify(publicKeys)}, ${given})`,
        ),
      ).toBe(makeUserData({ hostname: 'web-1', hostKey, publicKeys, own }));
    }
  });

  test.each([
    [401, 'no', 'Auth'],
    [403, 'You are not authorized', 'Auth'],
    [403, 'Quota exceeded for instances', 'Quota'],
    [422, 'creating this would exceed your droplet limit', 'Quota'],
    [500, 'InsufficientInstanceCapacity: none left', 'Capacity'],
    [503, 'RequestLimitExceeded: slow down', 'Retryable'],
    [429, 'too many', 'Retryable'],
    [404, 'no such thing', 'Invalid'],
    [302, '', 'Invalid'],
    [200, "'droplets'", 'Retryable'],
  ])('reads status %i with "%s" as %s', (status, said, kind) => {
    const answer = `type("Answer", (), {"status_code": ${status}, "headers": {"retry-after": "7"}})`;
    expect(
      evaluate('failure', `failure_of(Exception(${JSON.stringify(said)}), ${answer}, "ec2: find").error`),
    ).toMatchObject({ kind });
  });

  test('reads a lost connection as Retryable, and an error before any request as Invalid', () => {
    expect(evaluate('failure', 'failure_of(ConnectionError("cut"), None, "ec2: find").error')).toMatchObject({
      kind: 'Retryable',
    });
    expect(evaluate('failure', 'failure_of(ValueError("region"), None, "ec2: find").error')).toMatchObject({
      kind: 'Invalid',
    });
  });
});
