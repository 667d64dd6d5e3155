import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { reachServer } from '../../src/cli/reach-server.js';
import { describeError } from '../../src/cli/report-error.js';
import { writeDevRecord } from '../../src/cli/system/dev-record.js';
import { loadConfig } from '../../src/config/index.js';
import { markOf } from '../../src/detached/process-mark.js';
import { quoteWord } from '../../src/ssh/quote.js';
import { newFolder } from '../harness/folder.js';
import { freePort } from '../harness/free-port.js';

async function reach(
  cwd: string,
  from: 'default' | 'flag' = 'default',
): Promise<ReturnType<typeof describeError>> {
  const config = loadConfig({ cwd, env: { HOME: cwd, HEDDLE_DATA_FOLDER: join(cwd, 'none') } });
  const address = `127.0.0.1:${await freePort()}`;
  return reachServer(config, { address, namespace: 'default', from }, cwd).then(
    () => ({ code: 'Failed', message: 'it answers' }),
    describeError,
  );
}

it('a heddle.yaml in a parent folder is named when no server answers, unless one was named', async () => {
  const parent = newFolder();
  const file = join(parent, 'heddle.yaml');
  const below = join(parent, 'a/b');
  mkdirSync(below, { recursive: true });
  writeFileSync(file, '{}\n');
  const report = await reach(below);
  expect(report.code).toBe('NoServer');
  expect(report.message).toContain(
    `${file} is not read, because it is not in the working folder; run the command in ${parent}, or pass --config ${file}.`,
  );
  expect((await reach(below, 'flag')).message).not.toContain('heddle.yaml is not read');
  writeFileSync(join(below, 'heddle.yaml'), '{}\n');
  expect((await reach(below)).message).not.toContain('is not read');
});

it('a heddle dev with another data folder is named when no server answers', async () => {
  const folder = newFolder();
  const owner = await markOf(process.pid);
  if (owner === undefined) throw new Error('this process is not in the process table');
  await writeDevRecord(folder, {
    owner,
    address: '127.0.0.1:7777',
    namespace: 'default',
    ui: '',
    codecEndpoint: '',
    accounts: '',
    machines: { endpoint: '', apiKeyFile: '' },
    workerConfig: '/its/dev-worker.yaml',
    processes: { server: owner, machines: owner, worker: owner },
  });
  const database = join(folder, 'server/temporal.db');
  const server = spawn(process.execPath, [
    ...['-e', 'console.log(1); setInterval(() => {}, 1e6)', '--'],
    ...['server', 'start-dev', '--db-filename', database, '--headless'],
  ]);
  try {
    await new Promise((resolve) => server.stdout.once('data', resolve));
    const { message, next } = await reach(newFolder());
    expect(message).toContain(`heddle dev runs at 127.0.0.1:7777 with another data folder, ${folder}.`);
    // The first of those that run: a developer's own counts too.
    const [, first = ''] = /with another data folder, (.+)\.$/m.exec(message) ?? [];
    expect(next).toBe(`export HEDDLE_DATA_FOLDER=${quoteWord(first)}`);
  } finally {
    server.kill('SIGKILL');
  }
});
