import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { resolveLogin } from '../../src/cli/login.js';
import { loadConfig } from '../../src/config/index.js';
import type { JsonObject } from '../../src/model/json.js';

// Promise: ssh-resolves-no-node-data
describe('the login of heddle ssh', () => {
  let folder: string;
  let marker: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'heddle-login-'));
    marker = join(folder, 'executed');
    writeFileSync(join(folder, 'key'), 'PRIVATE\n');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  afterEach(() => expect(existsSync(marker)).toBe(false));

  const resolve = (account: string, auth: JsonObject): Promise<JsonObject> => {
    const providers = {
      racks: { type: 'static', site: 'here', fields: {} },
      lab: { type: 'local', site: 'here', fields: {} },
    };
    return resolveLogin({ ...loadConfig(), providers }, { node: 'app-1', account, auth });
  };

  it.each(['racks', 'pool'])(
    "resolves references of account %s, whose plugin passes its administrator's on",
    async (account) => {
      expect(
        await resolve(account, { user: 'root', key: { secret: `file:${join(folder, 'key')}` } }),
      ).toEqual({ user: 'root', key: 'PRIVATE' });
    },
  );

  it.each(['lab', 'gone'])(
    'resolves no reference of account %s: a node or a plugin supplied it',
    async (account) => {
      const auth = { user: 'root', password: { secret: `exec:/usr/bin/touch ${marker}` } };
      await expect(resolve(account, auth)).rejects.toMatchObject({
        code: 'Refused',
        message: expect.stringContaining('is not resolved'),
      });
    },
  );

  it('is used unchanged if it contains no reference', async () => {
    expect(await resolve('gone', { user: 'root', password: 'x' })).toEqual({ user: 'root', password: 'x' });
  });
});
