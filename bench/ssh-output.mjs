// What large output and short scripts cost: memory of the client under 1 GB of stdout, and time per run.
// Usage: npm run build && node bench/ssh-output.mjs [MEGABYTES [RUNS]]
// The server is another process (this file with --server), so that the memory measured is the client's alone.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import ssh2 from 'ssh2';

if (process.argv[2] === '--server') serve(process.argv[3]);
else await measure(Number(process.argv[2] ?? 1_000), Number(process.argv[3] ?? 50));

/**
 * @param {number} megabytes
 * @param {number} runs
 */
async function measure(megabytes, runs) {
  const { createPool } = await import('../dist/ssh/pool.js');
  const { runOnce } = await import('../dist/ssh/run.js');
  const { exec } = await import('../dist/ssh/exec.js');
  const home = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const server = spawn(process.execPath, [fileURLToPath(import.meta.url), '--server', home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pool = createPool();
  try {
    const [line] = await once(createInterface({ input: server.stdout }), 'line');
    const target = JSON.parse(line);
    const connect = () => pool.acquire(target);
    /** @type {(runId: string, text: string, onOutput?: import('../dist/ssh/run-options.js').OutputListener) => ReturnType<typeof runOnce>} */
    const run = (runId, text, onOutput) => runOnce({ runId, script: { text } }, { connect, onOutput });
    await run('warm', 'true');

    const connection = await connect();
    let began = performance.now();
    for (let index = 0; index < runs; index++) await exec(connection, ['true']);
    console.log(`exec of true: ${perCall(began, runs)} ms`);
    began = performance.now();
    for (let index = 0; index < runs; index++) await run(`short-${index}`, 'true');
    console.log(`once-only run of true: ${perCall(began, runs)} ms`);

    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    let peak = before;
    let bytes = 0;
    const timer = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 20);
    began = performance.now();
    const end = await run('large', `head -c ${megabytes}000000 /dev/zero | tr '\\0' y`, (_stream, chunk) => {
      bytes += chunk.length;
    });
    clearInterval(timer);
    const seconds = (performance.now() - began) / 1_000;
    console.log(
      `${bytes / 1e6} MB of stdout in ${seconds.toFixed(1)} s (${(bytes / 1e6 / seconds).toFixed(0)} MB/s), ` +
        `kept ${end.stdout.length} characters, memory ${mb(before)} -> at most ${mb(peak)} MB resident`,
    );
  } finally {
    await pool.closeAll();
    server.kill();
    rmSync(home, { recursive: true, force: true });
  }
}

/** @param {string} home */
function serve(home) {
  const pair = readableKey();
  const server = new ssh2.Server({ hostKeys: [pair.private] }, (client) => {
    // The types of ssh2 leave it out.
    /** @type {typeof client & { setNoDelay(on: boolean): void }} */ (client).setNoDelay(true);
    client.on('error', () => {});
    client.on('authentication', (context) => context.accept());
    client.on('session', (accept) =>
      accept().on('exec', (acceptExec, _reject, { command }) => {
        const channel = acceptExec();
        const child = spawn('/bin/sh', ['-c', command], {
          cwd: home,
          env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: home },
          detached: true,
        });
        child.stdout.pipe(channel, { end: false });
        child.stderr.pipe(channel.stderr, { end: false });
        channel.pipe(child.stdin).on('error', () => {});
        child.on('close', (code) => {
          channel.exit(code ?? 255);
          channel.end();
        });
      }),
    );
  });
  server.listen(0, '127.0.0.1', () => {
    const [type, key] = pair.public.split(' ');
    console.log(
      JSON.stringify({
        host: '127.0.0.1',
        port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
        user: 'bench',
        password: 'bench',
        hostKey: `${type} ${key}`,
      }),
    );
  });
}

/**
 * One in a hundred of ssh2's keys cannot be read again.
 * @returns {{ readonly private: string, readonly public: string }}
 */
function readableKey() {
  const pair = ssh2.utils.generateKeyPairSync('ed25519');
  return ssh2.utils.parseKey(pair.private) instanceof Error ? readableKey() : pair;
}

/**
 * @param {number} began
 * @param {number} calls
 */
function perCall(began, calls) {
  return ((performance.now() - began) / calls).toFixed(1);
}

/** @param {number} bytes */
function mb(bytes) {
  return Math.round(bytes / 1e6);
}
