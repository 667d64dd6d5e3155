import { spawn } from 'node:child_process';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readDevRecord, type DevRecord } from '../../src/cli/system/dev-record.js';
import { isRunning } from '../../src/detached/process-mark.js';
import { until } from '../harness/until.js';
import { expectDescribed, seenDocuments } from '../harness/cli/output-documents.js';
import { commandPath, type Ended, runHeddle, type Running, startHeddle } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';
import { writeFiles } from '../harness/programs/bench.js';

const spec = `name: web
nodes: {app: {count: 1, provider: local, services: [web]}}
services:
  web:
    check: {command: 'kill -0 $(cat "$HOME/web.pid")', every: 100ms}
    actions:
      start: {type: shell, fields: {script: 'setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! > "$HOME/web.pid"'}}
`;

describe('heddle dev', () => {
  let folder: string;
  let data: string;
  const started: Running[] = [];
  beforeAll(async () => {
    folder = newFolder();
    data = join(folder, 'data');
    await writeFile(join(folder, 'web.yaml'), spec);
  });
  afterAll(async () => {
    for (const dev of started) {
      dev.child.kill('SIGINT');
      await dev.ended;
    }
  });

  const settings = (): Parameters<typeof runHeddle>[1] => ({
    distPath: inject('distPath'),
    cwd: folder,
    env: { HOME: folder, HEDDLE_DATA_FOLDER: data, TEMPORAL_CLI: inject('temporalBinary') },
  });
  const run = (...words: readonly string[]): Promise<Ended> => runHeddle(words, settings());
  const startDev = async (): Promise<{ readonly dev: Running; readonly record: DevRecord }> => {
    const dev = startHeddle(['dev', '--port', '0', '--machines', 'directory'], settings());
    started.push(dev);
    await until(
      'heddle dev to be up',
      () => {
        if (dev.child.exitCode !== null) throw new Error(`heddle dev ended:\n${dev.stderr()}`);
        return dev.stdout().includes('next, in another terminal');
      },
      60_000,
    );
    const record = await readDevRecord(data);
    if (record === undefined) throw new Error('heddle dev left no record');
    return { dev, record };
  };
  const expectNothingRuns = async ({ processes }: DevRecord): Promise<void> => {
    for (const process of Object.values(processes))
      await until(`process ${process.pid} to be gone`, async () => !(await isRunning(process)));
  };

  it('starts everything; other commands find it by the data folder; clusters outlive its stop', async () => {
    const { dev, record } = await startDev();
    expect(await run('dev')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`process ${dev.child.pid}`),
    });
    expect(await run('apply', 'web.yaml')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('web matches its file'),
    });
    expect(await run('doctor')).toMatchObject({ code: 0 });
    expect((await fetch(record.ui)).status).toBe(200);
    expect(dev.stdout()).toContain(`accounts  ${record.accounts}`);
    expect(await (await fetch(record.accounts)).text()).toContain('Provider accounts');
    for (const file of ['dev.json', 'dev-worker.yaml'])
      expect((await stat(join(data, file))).mode & 0o077).toBe(0);

    dev.child.kill('SIGINT');
    expect(await dev.ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('clusters continue when heddle dev is started again'),
    });
    await expectNothingRuns(record);
    await expect(fetch(record.accounts)).rejects.toThrow();
    expect(await readDevRecord(data)).toBeUndefined();

    const again = await startDev();
    expect(await run('ssh', 'web', 'app-1', 'hostname')).toMatchObject({ code: 0 });
    await until('the services to be started again', () =>
      again.dev.stderr().includes('1 machine of cluster web rebooted; operation 2 starts their services'),
    );
    expect(await run('status', 'web', '--watch')).toMatchObject({ code: 0 });
    expect((await run('status', 'web', '--probe')).stdout).toMatch(
      /2 +done [^]*app-1 +ready \([\d.]+ s ago\) +127[^ ]* +web \(healthy, [\d.]+ s ago\)|app-1 +ready \([\d.]+ s ago\) +127[^ ]* +web \(healthy, [\d.]+ s ago\)[^]*2 +done/,
    );
    process.kill(again.record.processes.machines.pid, 'SIGKILL');
    await until('the services to be started once more', () =>
      again.dev.stderr().includes('rebooted; operation 3 starts their services'),
    );
    expect(await run('delete', 'web', '--yes')).toMatchObject({ code: 0 });
    again.dev.child.kill('SIGINT');
    await again.dev.ended;
  });

  it('restarts a worker that dies, reports it, and records the new process', async () => {
    const { dev, record } = await startDev();
    process.kill(record.processes.worker.pid, 'SIGKILL');
    await until('the worker to be back', () => dev.stderr().includes('the worker is running again'));
    expect(dev.stderr()).toContain('the worker ended (signal SIGKILL)');
    const now = await until('the record of the new worker', async () => {
      const found = await readDevRecord(data);
      return found !== undefined && found.processes.worker.pid !== record.processes.worker.pid
        ? found
        : undefined;
    });
    expect(await isRunning(now.processes.worker)).toBe(true);
    dev.child.kill('SIGINT');
    await dev.ended;
    await expectNothingRuns(now);
  });

  it('reports what becomes of a changed heddle.yaml, and restarts its worker for new plugins', async () => {
    const { dev, record } = await startDev();
    const file = join(folder, 'heddle.yaml');
    const told = (from: number): string => dev.stderr().slice(from);
    const write = async (text: string, ...expected: readonly string[]): Promise<string> => {
      const from = dev.stderr().length;
      await writeFile(file, text);
      for (const part of expected) await until(part, () => told(from).includes(part));
      return told(from);
    };
    try {
      const refused = await write('providers: {rack: {type: nonesuch}}\n', 'is not applied');
      expect(refused).toMatch(/heddle\.yaml:1:.*nonesuch/);
      expect(refused).not.toContain('dev-worker.yaml');
      // The worker has the configuration of before, also when it starts again.
      process.kill(record.processes.worker.pid, 'SIGKILL');
      await until('the worker runs again', () => told(0).includes('the worker is running again'));
      const again = (await readDevRecord(data))?.processes.worker.pid;
      expect(await write('provider: {}\n', 'changed and is not applied')).not.toContain('the worker ended');
      await write('scale: {inFlight: 7}\n', 'changed and is applied');
      await write('# A comment.\nscale: {inFlight: 7}\n', 'the settings of the worker stay the same');
      expect(await write('plugins: [./none]\n', 'is not applied')).toContain('none');
      expect((await readDevRecord(data))?.processes.worker.pid).toBe(again);
      writeFiles(join(folder, 'own'), {
        'providers/mine/mine.json': {
          ...{ name: 'mine', type: 'provider', version: '1.0.0', description: 'M' },
          command: ['./mine.sh'],
        },
        'providers/mine/mine.sh': '#!/bin/sh\n',
      });
      const restarted = await write(
        'plugins: [./own]\nproviders: {rack: {type: mine}}\n',
        'restarting the worker, which reads plugins only when it starts',
        'the worker is running again',
      );
      expect(restarted).not.toContain('the worker ended');
      expect(await readFile(join(data, 'logs', 'worker.log'), 'utf8')).toContain(
        'plugin provider mine 1.0.0',
      );
    } finally {
      await rm(file, { force: true });
    }
    dev.child.kill('SIGINT');
    expect(await dev.ended).toMatchObject({ code: 0 });
  });

  it('prints on SIGUSR2 what it waits for, has its processes do the same, and continues', async () => {
    const { dev, record } = await startDev();
    dev.child.kill('SIGUSR2');
    await until('its own dump', () => dev.stderr().includes(`process ${dev.child.pid}: up `));
    await until('all of it', () => /pending: \d+ \w+/.test(dev.stderr()));
    await until('the dump of its worker', async () =>
      (await readFile(join(data, 'logs', 'worker.log'), 'utf8')).includes('heddle.stack_dump'),
    );
    for (const process of Object.values(record.processes)) expect(await isRunning(process)).toBe(true);
    expect(await run('list')).toMatchObject({ code: 0 });
    dev.child.kill('SIGINT');
    expect(await dev.ended).toMatchObject({ code: 0 });
  });

  it('ends with the server, and gives the reason', async () => {
    const { dev, record } = await startDev();
    process.kill(record.processes.server.pid, 'SIGKILL');
    expect(await dev.ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the Temporal server ended (signal SIGKILL)'),
    });
    await expectNothingRuns(record);
  });

  it('ends processes that a killed one left behind', async () => {
    const first = await startDev();
    first.dev.child.kill('SIGKILL');
    await first.dev.ended;
    expect(await readFile(join(data, 'dev.json'), 'utf8')).toContain(String(first.dev.child.pid));
    const second = await startDev();
    await expectNothingRuns(first.record);
    second.dev.child.kill('SIGTERM');
    expect(await second.dev.ended).toMatchObject({ code: 0 });
    await expectNothingRuns(second.record);
  });

  it('ends with a killed program that started it with a channel, as the demo does', async () => {
    const { distPath, env } = settings();
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `require('node:child_process').spawn(process.execPath, process.argv.slice(1), { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })`,
        join(distPath, 'cli', 'main.js'),
        ...['dev', '--port', '0', '--machines', 'directory'],
      ],
      { env: { PATH: commandPath, ...env }, stdio: 'ignore' },
    );
    const record = await until('heddle dev to leave its record', () => readDevRecord(data), 60_000);
    parent.kill('SIGKILL');
    await expectNothingRuns(record);
    await until('the record to be gone', async () => (await readDevRecord(data)) === undefined);
  });

  it('writes one document with --json', async () => {
    const options = settings();
    const own = { ...options, env: { ...options.env, HEDDLE_DATA_FOLDER: join(folder, 'data-json') } };
    const words = ['dev', '--json', '--port', '0', '--machines', 'directory'];
    const dev = startHeddle(words, own);
    started.push(dev);
    await until('heddle dev to be ready', () => dev.stdout().includes('"ready":true'), 60_000);
    expectDescribed(words, dev.stdout());
    expect(seenDocuments).toContain('dev');
  });
});
