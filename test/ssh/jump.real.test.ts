import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect } from '../../src/ssh/connect.js';
import { exec } from '../../src/ssh/exec.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { probe } from '../../src/ssh/probe.js';
import type { SshTarget } from '../../src/ssh/target.js';
import { countLines, runOn } from '../harness/run-fixture.js';
import { makeHostKey, startNode, type TestNode } from '../harness/ssh-server.js';
import { type Sshd, sshdIsMissing, startSshd } from '../harness/sshd.js';
import { startProxy, type TcpProxy } from '../harness/tcp-proxy.js';
import { until } from '../harness/until.js';

const missing = sshdIsMissing();
if (missing !== undefined)
  console.info(`left out what is tried through a real OpenSSH server as jump host: ${missing}`);

type Jump = NonNullable<SshTarget['jump']>;

describe.skipIf(missing !== undefined)('through a real OpenSSH server as jump host', () => {
  let bastion: Sshd;
  let jump: Jump;
  let node: TestNode;
  let target: TestNode['target'];
  let pool: ConnectionPool;
  const proxies: TcpProxy[] = [];
  beforeAll(async () => {
    bastion = await startSshd();
    jump = { ...bastion.target, hostKey: bastion.target.hostKey ?? '' };
  });
  afterAll(() => bastion?.close());
  beforeEach(async () => {
    node = await startNode();
    target = { ...node.target, jump };
    pool = createPool();
  });
  afterEach(async () => {
    await pool.closeAll();
    for (const proxy of proxies.splice(0)) await proxy.close();
    await node.close();
  });
  const onTarget = (runId: string, text: string, from: ConnectionPool = pool, to: SshTarget = target) =>
    runOn(node, from, runId, { text }, { connect: () => from.acquire(to) });
  const between = async (to: { readonly port: number }): Promise<TcpProxy> => {
    const proxy = await startProxy(to);
    proxies.push(proxy);
    return proxy;
  };

  test("a script is executed, and a probe pins the target's key, not the jump host's", async () => {
    expect(await onTarget('run', 'echo x >> "$HOME/count"; echo done; exit 3')).toMatchObject({
      reason: 'exit',
      exitCode: 3,
      stdout: 'done\n',
    });
    const { hostKey: _, ...rest } = target;
    const unknown = { ...rest, pinsWithPassword: true };
    expect((await probe(unknown)).hostKey).toBe(node.target.hostKey);
    expect((await probe(unknown, { openJump: (to) => pool.acquire(to) })).hostKey).toBe(node.target.hostKey);
  });

  test('many targets share one connection to the jump host, beyond its session limit', async () => {
    const nodes = await Promise.all(Array.from({ length: 12 }, () => startNode()));
    const first = await pool.acquire(jump);
    const connections = await Promise.all(nodes.map((one) => pool.acquire({ ...one.target, jump })));
    const outcomes = await Promise.all(
      connections.map((connection) => exec(connection, ['sh', '-c', 'echo "$HOME"'])),
    );
    expect(outcomes.map(({ stdout }) => stdout.trim())).toEqual(nodes.map(({ home }) => home));
    expect(await pool.acquire(jump)).toBe(first);
    expect(first.busy).toBe(true);
    await pool.closeAll();
    await until('nothing is left at the jump host', () => !first.open);
    await Promise.all(nodes.map((one) => one.close()));
  });

  test('a jump connection without a target is closed when idle, and not before', async () => {
    const impatient = createPool({ idleMs: 50 });
    const hop = await impatient.acquire(jump);
    const connection = await impatient.acquire(target);
    expect((await exec(connection, ['sh', '-c', 'sleep 0.3; echo still'])).stdout).toBe('still\n');
    await connection.closed;
    await hop.closed;
  });

  test('a connection outside of a pool closes its jump connection with itself', async () => {
    const connection = await connect(target);
    expect((await exec(connection, ['echo', 'there'])).stdout).toBe('there\n');
    connection.close();
    await connection.closed;
    await until('the node sees it', () => node.connections.open === 0);
  });

  test('both host keys are checked, each against its own pin', async () => {
    const stranger = makeHostKey().line;
    await expect(pool.acquire({ ...target, hostKey: stranger })).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringMatching(/127\.0\.0\.1:\d+ through .* shows host key/),
    });
    await expect(pool.acquire({ ...target, hostKey: String(bastion.target.hostKey) })).rejects.toMatchObject({
      kind: 'Invalid',
    });
    await expect(pool.acquire({ ...target, jump: { ...jump, hostKey: stranger } })).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringMatching(/^jump host of 127\.0\.0\.1: .* shows host key/),
    });
    await expect(pool.acquire({ ...target, jump: { ...jump, hostKey: [] } })).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('no host key is known'),
    });
    expect(node.connections.total).toBe(0);
  });

  test('a jump host that refuses the login or the forwarding, or does not reach the target, is reported', async () => {
    await expect(
      pool.acquire({ ...target, jump: { ...jump, privateKey: makeHostKey().private } }),
    ).rejects.toMatchObject({ kind: 'Auth', message: expect.stringContaining('jump host') });
    await expect(pool.acquire({ ...target, port: 1 })).rejects.toMatchObject({
      kind: 'Retryable',
      message: expect.stringContaining('does not reach 127.0.0.1:1'),
    });
    const strict = await startSshd(['AllowTcpForwarding no']);
    await expect(
      pool.acquire({ ...target, jump: { ...strict.target, hostKey: strict.target.hostKey ?? '' } }),
    ).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('AllowTcpForwarding') });
    await strict.close();
  });

  test('a jump host that is killed and returns has no effect', async () => {
    const run = onTarget(
      'restart',
      'echo x >> "$HOME/count"; touch "$HOME/running"; until [ -e "$HOME/go" ]; do sleep 0.05; done; exit 5',
    );
    await until('it runs', () => existsSync(join(node.home, 'running')));
    await bastion.restart();
    await runOn(node, pool, 'go', { text: 'touch "$HOME/go"' });
    expect(await run).toMatchObject({ reason: 'exit', exitCode: 5 });
    expect(countLines(join(node.home, 'count'))).toBe(1);
  });

  test('a dead link is detected within 20 s: to the jump host, behind it, and without one', async () => {
    // Pings as they are set up for everybody, every 5 s.
    const [mute, inner] = [await between(bastion.target), await between(node.target)];
    const ways: readonly SshTarget[] = [
      { ...target, jump: { ...jump, port: mute.port } },
      { ...target, port: inner.port },
      { ...node.target, port: inner.port },
    ];
    const connections = await Promise.all(ways.map((way) => pool.acquire(way)));
    const commands = connections.map((connection) =>
      exec(connection, ['sleep', '600'], { timeoutMs: 600_000 }),
    );
    const lost = Promise.allSettled(commands);
    mute.blackhole();
    inner.blackhole();
    await until('all are noticed', () => connections.every((connection) => !connection.open));
    for (const end of await lost)
      expect(end).toMatchObject({ status: 'rejected', reason: { kind: 'Retryable' } });
  });

  test('a target that restarts behind its jump host gets another connection, pooled or not', async () => {
    const way = await between(node.target);
    const to = { ...target, port: way.port };
    const [pooled, own] = [await pool.acquire(to), await connect(to)];
    expect((await exec(pooled, ['echo', 'before'])).stdout).toBe('before\n');
    // What a system that came up again says to a connection it does not know.
    way.reset();
    await Promise.all([pooled.closed, own.closed]);
    expect((await exec(await pool.acquire(to), ['echo', 'after'])).stdout).toBe('after\n');
  });
});
