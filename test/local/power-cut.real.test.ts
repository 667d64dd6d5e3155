import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createBody, TestService, until } from '../harness/local/service.js';
import { exec, runs } from '../harness/local/ssh.js';

describe('the end of the service acts as a power cut', () => {
  it.each([
    ['directory', 'SIGINT'],
    ['directory', 'SIGKILL'],
    ['auto', 'SIGTERM'],
    ['auto', 'SIGKILL'],
  ] as const)('of kind %s: on %s all machines end, and start again unchanged', async (kind, signal) => {
    const service = await TestService.start(['--kind', kind]);
    const body = createBody({ hostname: 'kept' });
    const id = z.object({ id: z.string() }).parse((await service.call('POST', '/v1/machines', body)).body).id;
    const before = await service.waitForState(id, 'running');
    const off = await service.createRunning();
    await service.call('POST', `/v1/machines/${off.id}/power`, { power: 'off' });
    const word = `heddle-test-${randomBytes(6).toString('hex')}`;
    await exec(
      before,
      `echo kept >"$HOME/file"; (setsid sh -c 'sleep 1000; : ${word}' >/dev/null 2>&1 </dev/null &)`,
    );
    await until(async () => runs(word));

    await service.end(signal);
    // After SIGKILL it is the guard that ends them, where there is /proc; elsewhere the next start does.
    if (signal !== 'SIGKILL' || process.platform === 'linux') await until(async () => !runs(word));
    await service.restart();

    const after = await service.waitForState(id, 'running');
    expect(after).toEqual(before);
    expect((await service.describe(off.id)).state).toBe('stopped');
    expect(runs(word)).toBe(false);
    expect(await exec(after, 'cat "$HOME/file"')).toMatchObject({ code: 0, stdout: 'kept\n' });
    expect(await service.call('POST', '/v1/machines', body)).toMatchObject({ status: 200, body: { id } });
  });
});

describe('machine service on a data folder', () => {
  it('finishes an interrupted deletion', async () => {
    const service = await TestService.start(['--kind', 'directory', '--delete-delay', '600000']);
    const { id } = await service.createRunning();
    await service.call('DELETE', `/v1/machines/${id}`);
    await service.end('SIGKILL');
    const next = await TestService.start(['--kind', 'directory'], service.folder);
    await next.waitUntilGone(id);
    expect(() => statSync(`${next.folder}/machines/${id}`)).toThrow('ENOENT');
  });

  it('continues the numbering of its journal after a cut', async () => {
    const service = await TestService.start(['--kind', 'directory']);
    await service.create();
    await service.end('SIGKILL');
    await service.restart();
    await service.create();
    const { entries } = z
      .object({ entries: z.array(z.object({ seq: z.number() })) })
      .parse((await service.call('GET', '/v1/journal?operation=create')).body);
    expect(entries.map((entry) => entry.seq)).toEqual([1, 2]);
  });

  it('refuses a second service on the same folder, and continues', async () => {
    const service = await TestService.start(['--kind', 'directory']);
    await expect(TestService.start(['--kind', 'directory'], service.folder)).rejects.toThrow(
      'Another machine service (process',
    );
    expect((await service.call('GET', '/v1/machines')).status).toBe(200);
  });

  it('lets only one of two start that start at the same time on the folder of a dead one', async () => {
    const dead = await TestService.start(['--kind', 'directory']);
    await dead.end('SIGKILL');
    const starts = await Promise.allSettled(
      [1, 2, 3].map(() => TestService.start(['--kind', 'directory'], dead.folder)),
    );
    expect(starts.filter((start) => start.status === 'fulfilled')).toHaveLength(1);
  });

  it('shares no address with machines of another service', async () => {
    const services = await Promise.all([1, 2].map(() => TestService.start(['--kind', 'directory'])));
    const machines = await Promise.all(services.map((service) => service.createRunning()));
    const [one, other] = machines.map((machine) => `${machine.address}:${machine.port}`);
    expect(one).not.toBe(other);
    for (const machine of machines) expect(await exec(machine, 'exit 3')).toMatchObject({ code: 3 });
  });

  it('uses the addresses it was given, and refuses if another service has them', async (context) => {
    context.skip(process.platform !== 'linux', 'only Linux has more loopback addresses than one');
    const first = await TestService.start(['--kind', 'directory', '--address-range', '127.251.16']);
    expect((await first.createRunning()).address).toMatch(/^127\.251\.(1[6-9]|2\d|3[01])\./);
    await first.end('SIGTERM');
    const second = await TestService.start(['--kind', 'directory', '--address-range', '127.251.16']);
    await expect(first.restart()).rejects.toThrow('127.251.16.0/20 port 2222, are taken');
    await second.end('SIGTERM');
    await first.restart();
  });

  it('logs its activity on SIGUSR2, and continues', async () => {
    const service = await TestService.start(['--kind', 'directory', '--log-level', 'error']);
    await service.createRunning();
    service.process.kill('SIGUSR2');
    await until(async () => service.log.includes('heddle.stack_dump'));
    const line = service.log.split('\n').find((text) => text.includes('heddle.stack_dump')) ?? '';
    expect(JSON.parse(line)).toMatchObject({ level: 'debug', machines: { running: 1 }, calls: [] });
    expect((await service.call('GET', '/v1/machines')).status).toBe(200);
  });

  it('refuses a folder whose records it cannot read, and names the file', async () => {
    const service = await TestService.start(['--kind', 'directory']);
    const id = await service.create();
    await service.end('SIGTERM');
    const writer = spawn('/bin/sh', [
      '-c',
      'echo nonsense >"$1"',
      'sh',
      `${service.folder}/machines/${id}/machine.json`,
    ]);
    await once(writer, 'exit');
    await expect(service.restart()).rejects.toThrow(
      `${id}/machine.json is not a file this machine service wrote`,
    );
  });
});
