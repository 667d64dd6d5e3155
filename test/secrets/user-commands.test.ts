import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { allowReferences } from '../../src/secrets/allowed.js';
import { configSchema } from '../../src/schema/config.js';
import { resolveSecrets, type LimitedOrigin } from '../../src/secrets/reference.js';
import { newFolder } from '../harness/folder.js';

/** The environment of a worker. Each value says by which name it leaked. */
const environment = {
  PATH: '/usr/bin:/bin',
  HEDDLE_KEYS: 'leak:heddle-keys',
  TEMPORAL_API_KEY: 'leak:api-key',
  VAULT_TOKEN: 'leak:vault',
  RACK_PASSWORD: 'leak:account',
  TOOL_TOKEN: 'granted',
} as const;

let folder: string;
let keys: string;
beforeAll(() => {
  folder = newFolder();
  keys = join(folder, 'keys.json');
  writeFileSync(keys, 'leak:keys');
});

const user = (allow?: readonly string[]): LimitedOrigin => ({
  writtenBy: 'user',
  place: 'a cluster file',
  allows: allowReferences(allow, [folder]),
});
const resolve = async (command: string, origin: LimitedOrigin, commandVariables?: readonly string[]) =>
  JSON.stringify(
    (await resolveSecrets({ secret: `exec:${command}` }, { environment, commandVariables }, origin)).value,
  );

describe("commands of users' references", () => {
  // Promise: listed-commands
  it.each(['printenv VAULT_TOKEN', 'cat keys.json', 'cat /proc/self/environ'])(
    'do not run unless secrets.allow lists them: exec:%s',
    async (line) => {
      const command = line.replace('keys.json', keys);
      for (const allow of [undefined, ['env:*', 'file:*'], ['exec:pass show app']])
        await expect(resolve(command, user(allow))).rejects.toThrow(/secrets\.allow/);
      // The attack succeeds where an administrator writes it.
      if (!command.startsWith('cat /proc'))
        expect(await resolve(command, { writtenBy: 'administrator', place: 'heddle.yaml' })).toMatch(
          /^"leak:/,
        );
    },
  );

  // Promise: command-environment
  it('get PATH, HOME, LANG and the variables that secrets.environment grants', async () => {
    const allow = user(['exec:env']);
    const names = async (commandVariables?: readonly string[]) =>
      [...(await resolve('env', allow, commandVariables)).matchAll(/([A-Z_]+)=/g)].map(([, name]) => name);
    expect(await names()).toEqual(['PATH']);
    expect(await names(['TOOL_TOKEN'])).toEqual(['PATH', 'TOOL_TOKEN']);
    for (const name of [
      'HEDDLE_KEYS',
      'heddle_keys',
      'TEMPORAL_API_KEY',
      'VAULT_TOKEN',
      'vault_token',
      'NO NAME',
    ])
      expect(configSchema.safeParse({ secrets: { environment: [name] } }).success, name).toBe(false);
    expect(configSchema.safeParse({ secrets: { environment: ['TOOL_TOKEN'] } }).success).toBe(true);
  });
});
