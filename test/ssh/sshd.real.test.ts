import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exec } from '../../src/ssh/exec.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { probe } from '../../src/ssh/probe.js';
import { runOnce } from '../../src/ssh/run.js';
import { collect, countLines } from '../harness/run-fixture.js';
import { processesWith } from '../harness/processes.js';
import { makeHostKey } from '../harness/ssh-server.js';
import { type Sshd, sshdIsMissing, startSshd } from '../harness/sshd.js';
import { until } from '../harness/until.js';

const missing = sshdIsMissing();
if (missing !== undefined)
  console.info(
    `left out what is tried on a real OpenSSH server: ${missing}; the other tests try the same on ssh2's`,
  );

describe.skipIf(missing !== undefined)('on a real OpenSSH server', () => {
  let sshd: Sshd;
  let pool: ConnectionPool;
  beforeAll(async () => {
    sshd = await startSshd();
    pool = createPool();
  });
  afterAll(async () => {
    await pool?.closeAll();
    await sshd?.close();
  });
  const run = (runId: string, text: string, more: object = {}) =>
    runOnce(
      { runId, script: { text, environment: { FOLDER: sshd.folder } }, runsFolder: sshd.runsFolder },
      { connect: () => pool.acquire(sshd.target), ...more },
    );

  test('a probe pins, then enforces the host key', async () => {
    const { hostKey: _, ...unknown } = sshd.target;
    const { hostKey } = await probe(unknown);
    expect(String(sshd.target.hostKey)).toContain(hostKey);
    await expect(probe({ ...sshd.target, hostKey })).resolves.toMatchObject({ hostKey });
    await expect(probe({ ...sshd.target, hostKey: makeHostKey().line })).rejects.toMatchObject({
      kind: 'Invalid',
    });
    await expect(probe({ ...sshd.target, privateKey: makeHostKey().private })).rejects.toMatchObject({
      kind: 'Auth',
    });
  });

  test('agrees with a server that offers only current algorithms, and not with an old one', async () => {
    const strict = await startSshd([
      'KexAlgorithms curve25519-sha256',
      'Ciphers aes128-gcm@openssh.com',
      'HostKeyAlgorithms ssh-ed25519',
    ]);
    await expect(probe(strict.target)).resolves.toBeDefined();
    await strict.close();
    const old = await startSshd(['KexAlgorithms diffie-hellman-group14-sha1']);
    await expect(probe(old.target)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('no algorithm'),
    });
    await old.close();
  });

  test('twenty concurrent commands stay within the sessions that sshd permits', async () => {
    const connection = await pool.acquire(sshd.target);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        exec(connection, ['sh', '-c', 'sleep 0.05; echo "$1"', 'sh', String(index)]),
      ),
    );
    expect(outcomes.map(({ stdout }) => Number(stdout))).toEqual(outcomes.map((_, index) => index));
  });

  test('a server that is killed with all its connections does not affect the script', async () => {
    const output = collect();
    const running = run(
      'killed',
      'echo x >> "$FOLDER/count"; i=0; until [ -e "$FOLDER/go" ]; do i=$((i+1)); echo $i; sleep 0.05; done; touch "$FOLDER/done"; exit 5',
      { onOutput: output.listener },
    );
    await until('it prints', () => output.text('stdout').includes('3\n'));
    await sshd.restart();
    const seen = output.text('stdout').length;
    await until('it prints again', () => output.text('stdout').length > seen);
    await run('other', 'touch "$FOLDER/go"');
    const end = await running;
    expect(end).toMatchObject({ reason: 'exit', exitCode: 5 });
    const numbers = output.text('stdout').trim().split('\n').map(Number);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    expect(countLines(join(sshd.folder, 'count'))).toBe(1);
  });

  test('a command that takes too long does not block its caller', async () => {
    await expect(
      exec(await pool.acquire(sshd.target), ['sleep', '3'], { timeoutMs: 200 }),
    ).rejects.toMatchObject({ kind: 'Retryable' });
  });

  test('a worker that detaches leaves the script to the next one, and its channel is free after the script', async () => {
    const detach = new AbortController();
    const running = run(
      'let-go',
      'touch "$FOLDER/let-go"; until [ -e "$FOLDER/on" ]; do sleep 0.1; done; exit 4',
      { detach: detach.signal },
    );
    await until('it runs', () => existsSync(join(sshd.folder, 'let-go')));
    const connection = await pool.acquire(sshd.target);
    detach.abort();
    await expect(running).rejects.toMatchObject({ kind: 'Retryable' });
    await run('on', 'touch "$FOLDER/on"');
    expect(await run('let-go', '')).toMatchObject({ reason: 'exit', exitCode: 4 });
    await until('the channel is free', () => !connection.busy);
  });

  test('a script whose output is streamed holds one channel: what kept the other open is ended', async () => {
    // Parents: the supervisor, its shell, and what waits for that.
    const text = `parent() { read -r stat < "/proc/$1/stat"; set -- \${stat##*") "}; echo "$2"; }
      shell=$(parent "$PPID")
      first=$(parent "$shell")
      while [ "$(parent "$shell")" = "$first" ]; do sleep 0.05; done
      echo freed`;
    expect(await run('streamed', text)).toMatchObject({ reason: 'exit', stdout: 'freed\n' });
  });

  test('cancelling reaches the process group', async () => {
    const cancel = new AbortController();
    const running = run('cancel', 'sh -c "sleep 66; : $FOLDER" & touch "$FOLDER/running"; sleep 67; : end', {
      signal: cancel.signal,
    });
    await until('it runs', () => existsSync(join(sshd.folder, 'running')));
    cancel.abort();
    expect(await running).toMatchObject({ reason: 'cancel' });
    await until('its processes are gone', () =>
      processesWith(sshd.folder).every(({ line }) => line.includes('sshd')),
    );
  });
});
