import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { providerSuite } from '../../../../../src/testing/index.js';
import type { JsonObject } from '../../../../../src/model/json.js';
import { libcloudIsMissing, venv } from './environment.js';

type Options = Parameters<typeof providerSuite>[1];

/** Fields of an account with a key of its own, for any driver. */
export function sharedFields(): JsonObject {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-libcloud-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const keyFile = join(folder, 'key');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(keyFile, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
  return {
    venv,
    hostKeySecret: 'host-key-secret-of-the-suite-0123456789',
    privateKey: { secret: `file:${keyFile}` },
  };
}

/** The shared suite on a driver of Libcloud; left out where Libcloud or something else is missing. */
export function suiteOfDriver(
  driver: string,
  { name, open, without = {} }: Pick<Options, 'name' | 'open' | 'without'>,
  missing: string | undefined = libcloudIsMissing(),
): void {
  if (missing !== undefined) {
    test.skip(`driver ${driver}: ${missing}`);
    return;
  }
  describe(`driver ${driver}`, () => {
    providerSuite(
      { describe, test, afterAll },
      {
        name,
        endpoint: 'endpoint',
        machines: ['power'],
        consistencyWindowMs: 0,
        open,
        without: {
          'same-moment':
            'most drivers know no client tokens: the engine calls CREATE once at a time, and looks before it calls again',
          ...without,
        },
      },
    );
  });
}
