import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { startFakeCloud, startFlakyApi, type FakeCloud } from '../../src/testing/index.js';
import { expectDescribed } from '../harness/cli/output-documents.js';
import { startHeddle } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';
import { processesWith } from '../harness/processes.js';

const root = join(import.meta.dirname, '../..');

async function withCloud(
  options: Parameters<typeof startFakeCloud>[0],
  use: (
    cloud: FakeCloud,
    call: (method: string, path: string, body?: object) => Promise<Response>,
  ) => Promise<void>,
): Promise<void> {
  const cloud = await startFakeCloud(options);
  try {
    await use(cloud, (method, path, body) =>
      fetch(cloud.endpoint + path, {
        method,
        headers: { authorization: `Bearer ${cloud.apiKey}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  } finally {
    await cloud.close();
  }
}

const machine = (number: number) => ({
  key: `web/app-${number}/1`,
  token: `token-of-web-app-${number}`,
  hostname: `app-${number}`,
  flavor: 'tiny',
  image: 'host',
});

test('a fake cloud lists its machines in small pages, and new ones late', async () => {
  await withCloud({ pageSize: 2, lagMs: 1_500 }, async (cloud, call) => {
    const listed = async (): Promise<{ readonly machines: readonly object[]; readonly next?: string }> =>
      (await (await call('GET', '/v1/machines?limit=100')).json()) as never;
    for (const number of [1, 2, 3])
      expect(await call('POST', '/v1/machines', machine(number))).toMatchObject({ status: 201 });
    expect(await listed()).toEqual({ machines: [] });
    await expect.poll(async () => (await cloud.machines()).length, { timeout: 10_000 }).toBe(3);
    const first = await listed();
    expect(first).toEqual({ machines: [expect.anything(), expect.anything()], next: expect.any(String) });
  });
});

test('a flaky API refuses calls and loses answers in turn, and lets the repeated call pass', async () => {
  await withCloud({}, async (cloud) => {
    const flaky = await startFlakyApi(cloud.endpoint, { refuseEvery: 3, loseEvery: 4 });
    try {
      const ask = (path: string): Promise<string> =>
        fetch(`${flaky.endpoint}${path}`, { headers: { authorization: `Bearer ${cloud.apiKey}` } }).then(
          ({ status, headers }) => `${status} ${headers.get('retry-after') ?? ''}`.trim(),
          () => 'lost',
        );
      const answers = [];
      for (const path of ['/v1/machines', '/v1/images'])
        for (let n = 0; n < 6; n += 1) answers.push(await ask(path));
      // A turn that comes with a repeated call, or together with another one, is the next call's.
      expect(answers).toEqual([
        ...['200', '200', '429 1', '200', 'lost', '200'],
        ...['503', '200', 'lost', '200', '429 1', '200'],
      ]);
      expect(flaky.failures()).toEqual({ refused: 3, lost: 2 });
      flaky.calm(true);
      for (let n = 0; n < 12; n += 1) expect(await ask('/v1/machines')).toBe('200');
    } finally {
      await flaky.close();
    }
  });
});

test('a flaky API loses answers although each loss comes together with a refusal', async () => {
  await withCloud({ refuseEvery: 2, loseEvery: 4 }, async (cloud) => {
    for (let n = 0; n < 12; n += 1)
      await fetch(`${cloud.endpoint}/v1/machines?limit=${n + 1}`).catch(() => undefined);
    expect(cloud.failures()).toEqual({ refused: 6, lost: 2 });
  });
});

test('the program of the page creates one machine although its answer was lost', () => {
  const page = readFileSync(join(root, 'docs/reference/plugins/suites.md'), 'utf8');
  const [, program = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const folder = newFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/heddle'));
  writeFileSync(join(folder, 'try.mjs'), program);
  const output = execFileSync(process.execPath, ['try.mjs'], { cwd: folder, encoding: 'utf8' });
  expect(output).toBe('true 200 { refused: 0, lost: 1 } 1\n');
});

test('heddle plugins cloud runs one until it is interrupted, and its service ends with it', async () => {
  const folder = newFolder();
  const words = ['plugins', 'cloud', '--json', '--page-size', '3'];
  const start = async () => {
    const running = startHeddle(words, { distPath: inject('distPath'), env: { TMPDIR: folder } });
    const { child, ended } = running;
    while (!running.stdout().includes('}')) await once(child.stdout ?? child, 'data');
    expectDescribed(words, running.stdout());
    const cloud = JSON.parse(running.stdout()) as { readonly endpoint: string; readonly apiKey: string };
    return { child, ended, cloud };
  };
  const services = () => processesWith(`local/main.js --data ${folder}`).length;
  const { child, ended, cloud } = await start();
  expect(services()).toBe(1);
  const headers = { authorization: `Bearer ${cloud.apiKey}` };
  expect(await fetch(`${cloud.endpoint}/v1/machines`, { headers })).toMatchObject({ status: 200 });
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 0, stderr: '0 calls were refused, 0 answers lost\n' });
  expect(services()).toBe(0);
  const killed = await start();
  killed.child.kill('SIGKILL');
  await killed.ended;
  await expect.poll(services, { timeout: 10_000 }).toBe(0);
  // It removed its folder before it ended.
  expect(readdirSync(folder)).toEqual([]);
});
