import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { exec } from '../../src/ssh/exec.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { probe } from '../../src/ssh/probe.js';
import { makeHostKey, startNode, type TestNode } from '../harness/ssh-server.js';
import { startProxy } from '../harness/tcp-proxy.js';
import { until } from '../harness/until.js';

let node: TestNode;
let pool: ConnectionPool;
beforeEach(async () => {
  node = await startNode();
  pool = createPool();
});
afterEach(async () => {
  await pool.closeAll();
  await node.close();
});

test('many callers at once share one connection', async () => {
  const connections = await Promise.all(Array.from({ length: 20 }, () => pool.acquire(node.target)));
  expect(new Set(connections).size).toBe(1);
  expect(node.connections.total).toBe(1);
});

test('other credentials, users or host keys get their own connection', async () => {
  const key = makeHostKey();
  const one = await pool.acquire(node.target);
  const others = await Promise.all([
    pool.acquire({ ...node.target, user: 'other' }),
    pool.acquire({ ...node.target, privateKey: key.private }),
    pool.acquire({ ...node.target, hostKey: [node.target.hostKey, key.line] }),
  ]);
  expect(new Set([one, ...others]).size).toBe(4);
});

test('at most eight commands run on a connection at once, and all of them finish', async () => {
  const connection = await pool.acquire(node.target);
  const command = [
    'sh',
    '-c',
    'n=$(($(cat "$HOME"/now-* 2>/dev/null | wc -l) + 1)); echo x > "$HOME/now-$$"; sleep 0.1; ls "$HOME" | grep -c now-; rm "$HOME/now-$$"',
  ];
  const counts = await Promise.all(Array.from({ length: 20 }, () => exec(connection, command)));
  expect(counts.map(({ exitCode }) => exitCode)).toEqual(counts.map(() => 0));
  expect(Math.max(...counts.map(({ stdout }) => Number(stdout)))).toBeLessThanOrEqual(8);
  expect(node.connections.total).toBe(1);
});

test('a closed connection is replaced', async () => {
  const first = await pool.acquire(node.target);
  node.cut();
  await first.closed;
  const second = await pool.acquire(node.target);
  expect((await exec(second, ['echo', 'back'])).stdout).toBe('back\n');
});

test('a command on a cut connection is Retryable', async () => {
  const connection = await pool.acquire(node.target);
  const run = exec(connection, ['sleep', '60']);
  await until('it runs', () => node.commands.length === 1);
  node.cut();
  await expect(run).rejects.toMatchObject({ kind: 'Retryable' });
  await expect(exec(connection, ['true'])).rejects.toMatchObject({ kind: 'Retryable' });
});

test('a probe leaves its connection to the pool, which reports it while it is open', async () => {
  const target = { ...node.target };
  expect(pool.openConnection(target)).toBeUndefined();
  await probe(target, { keep: (connection) => pool.add(target, connection) });
  const connection = await pool.acquire(target);
  expect(pool.openConnection(target)).toBe(connection);
  expect(node.connections.total).toBe(1);
  node.cut();
  await until('the connection is closed', () => pool.openConnection(target) === undefined);
});

test('a connection that takes the place of an idle one ends it', async () => {
  const { target } = node;
  const before = await pool.acquire(target);
  await probe(target, { keep: (connection) => pool.add(target, connection) });
  await before.closed;
  expect(pool.openConnection(target)?.open).toBe(true);
});

test('a replaced connection that is in use is ended with the pool', async () => {
  const { target } = node;
  const before = await pool.acquire(target);
  const run = exec(before, ['sleep', '60']);
  const failed = expect(run).rejects.toMatchObject({ kind: 'Retryable' });
  await until('it runs', () => node.commands.length === 1);
  await probe(target, { keep: (connection) => pool.add(target, connection) });
  expect(before.open).toBe(true);
  await pool.closeAll();
  await failed;
  expect(before.open).toBe(false);
});

test('an idle connection is closed', async () => {
  const impatient = createPool({ idleMs: 50 });
  const connection = await impatient.acquire(node.target);
  await exec(connection, ['sleep', '0.2']);
  await connection.closed;
  expect(connection.open).toBe(false);
});

test('closing the pool closes every connection', async () => {
  await Promise.all([pool.acquire(node.target), pool.acquire({ ...node.target, user: 'other' })]);
  await pool.closeAll();
  await until('the server sees it', () => node.connections.open === 0);
});

test('a caller that gives up does not close the connection of others', async () => {
  const giveUp = new AbortController();
  const impatient = pool.acquire(node.target, giveUp.signal);
  const patient = pool.acquire(node.target);
  giveUp.abort(new Error('given up'));
  await expect(impatient).rejects.toThrow('given up');
  expect((await patient).open).toBe(true);
  expect(node.connections.total).toBe(1);
});

test('a failed attempt is not cached', async () => {
  const wrong = { ...node.target, password: 'wrong' };
  await expect(pool.acquire(wrong)).rejects.toMatchObject({ kind: 'Auth' });
  await expect(pool.acquire(wrong)).rejects.toMatchObject({ kind: 'Auth' });
});

test('a port without a listener is Retryable', async () => {
  await node.close();
  await expect(probe(node.target)).rejects.toMatchObject({
    kind: 'Retryable',
    message: expect.stringContaining('ECONNREFUSED'),
  });
  node = await startNode();
});

test.each([
  ['that says nothing', ''],
  ['that is not an SSH server', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
])('a server %s is Retryable within the deadline', async (_name, greeting) => {
  const server = createServer((socket) => {
    socket.on('error', () => {
      /* The client goes away. */
    });
    socket.write(greeting);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await expect(probe({ ...node.target, port }, { timeoutMs: 300 })).rejects.toMatchObject({
    kind: 'Retryable',
    message: expect.stringContaining('does not answer as an SSH server'),
  });
  server.close();
});

test('a server that closes at once is Retryable', async () => {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await expect(probe({ ...node.target, port })).rejects.toMatchObject({ kind: 'Retryable' });
  server.close();
});

test('a server that accepts the login and then opens no channel is given up within the deadline', async () => {
  const impatient = createPool({ timeoutMs: 1_500 });
  const connection = await impatient.acquire(node.target);
  node.faults.stall = true;
  await expect(exec(connection, ['true'])).rejects.toMatchObject({
    kind: 'Retryable',
    message: expect.stringContaining('no channel was opened within 1.5 s'),
  });
  await connection.closed;
  delete node.faults.stall;
  expect((await exec(await impatient.acquire(node.target), ['echo', 'back'])).stdout).toBe('back\n');
  await impatient.closeAll();
});

test('an aborted probe ends with the reason', async () => {
  const proxy = await startProxy(node.target);
  proxy.blackhole();
  const stop = new AbortController();
  const looking = probe({ ...node.target, port: proxy.port }, { signal: stop.signal });
  stop.abort(new Error('stopped'));
  await expect(looking).rejects.toThrow('stopped');
  await proxy.close();
});

test.each([
  ['no credential', {}, 'Auth'],
  ['a key that is none', { privateKey: 'not a key' }, 'Invalid'],
  ['a public key', { privateKey: makeHostKey().line }, 'Invalid'],
  ['an agent that is not there', { agent: '/nonexistent/agent' }, 'Auth'],
])('%s is said before or at login', async (_name, credential, kind) => {
  const { password: _, ...target } = node.target;
  await expect(probe({ ...target, ...credential })).rejects.toMatchObject({ kind });
});

test('messages never contain a credential', async () => {
  const error: unknown = await probe({ ...node.target, password: 'CANARY' }).catch(
    (reason: unknown) => reason,
  );
  expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain('CANARY');
});
