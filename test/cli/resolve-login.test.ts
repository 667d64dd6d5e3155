import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { resolveLogin } from '../../src/cli/login.js';
import { loadConfig } from '../../src/config/index.js';
import type { JsonObject } from '../../src/model/json.js';
import type { ProviderAccount } from '../../src/model/provider-account.js';
import { newFolder } from '../harness/folder.js';

// Promise: ssh-resolves-no-node-data
describe('the login of heddle ssh', () => {
  let folder: string;
  let marker: string;
  beforeAll(() => {
    folder = newFolder();
    marker = join(folder, 'executed');
    writeFileSync(join(folder, 'key'), 'PRIVATE\n');
  });
  afterEach(() => expect(existsSync(marker)).toBe(false));

  const resolve = (account: string, auth: JsonObject): Promise<JsonObject> => {
    const providers: Record<string, ProviderAccount> = {
      racks: {
        type: 'static',
        site: 'here',
        fields: {
          machines: [
            { host: '192.0.2.1', user: 'root', key: { secret: `file:${join(folder, 'key')}` } },
            { host: '192.0.2.2', user: 'root', password: { secret: `exec:/usr/bin/touch ${marker}` } },
          ],
        },
      },
      lab: { type: 'local', site: 'here', fields: {} },
    };
    return resolveLogin({ ...loadConfig(), providers }, { node: 'app-1', account, auth });
  };

  it.each(['racks', 'pool'])(
    "resolves references of account %s that stand in this computer's heddle.yaml",
    async (account) => {
      expect(
        await resolve(account, { user: 'root', key: { secret: `file:${join(folder, 'key')}` } }),
      ).toEqual({ user: 'root', key: 'PRIVATE' });
    },
  );

  it.each(['racks', 'pool'])('runs no program for a login of account %s', async (account) => {
    const auth = { user: 'root', password: { secret: `exec:/usr/bin/touch ${marker}` } };
    await expect(resolve(account, auth)).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringContaining('which this command does not run'),
    });
  });

  it.each(['racks', 'pool', 'lab', 'gone'])(
    "resolves no reference of account %s that is not in this computer's heddle.yaml",
    async (account) => {
      for (const secret of [`exec:/usr/bin/touch ${marker} now`, `file:${join(folder, 'other')}`, 'env:HOME'])
        await expect(resolve(account, { user: 'root', password: { secret } })).rejects.toMatchObject({
          code: 'Refused',
          message: expect.stringContaining('is not resolved'),
        });
    },
  );

  it('is used unchanged if it contains no reference', async () => {
    expect(await resolve('gone', { user: 'root', password: 'x' })).toEqual({ user: 'root', password: 'x' });
  });
});
