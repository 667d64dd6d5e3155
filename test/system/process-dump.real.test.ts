import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { createKeys } from '../../src/secrets/keys.js';
import { freePort } from '../harness/free-port.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

it('SIGUSR2 to the codec server prints what it waits for, and it continues to answer', async () => {
  const folder = newFolder();
  createKeys(join(folder, 'keys'));
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [resolve(import.meta.dirname, '../../deploy/codec-server.mjs'), '--port', String(port)],
    {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', HOME: folder, HEDDLE_DATA_FOLDER: folder, HEDDLE_CODEC_TOKEN: 'a-token' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const output = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.err += text));
  try {
    await until('it listens', () => {
      if (child.exitCode !== null) throw new Error(output.err);
      return output.out.includes('codec server on');
    });
    child.kill('SIGUSR2');
    await until('the dump', () => output.err.includes(`process ${child.pid}: up `));
    expect(output.err).toMatch(/pending: \d+ \w+/);
    expect(output.err).toContain(`handle: tcp at 127.0.0.1:${port}`);
    expect((await fetch(`http://127.0.0.1:${port}/decode`, { method: 'POST' })).status).toBe(401);
  } finally {
    if (child.exitCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  }
});
