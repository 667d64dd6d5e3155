// A cluster of nodes on one real OpenSSH server, each with shell steps in order, beside plain SSH tools.
// Usage: npm run bench -- steps [--nodes 24] [--runs 3] [--gates] [--inline 50] [--parts] [--peers FOLDER] [--profile FOLDER]
// --gates lets each service wait for the one before it on all nodes; --inline N carries only N nodes in the cluster's workflow.
// --parts measures the parts by themselves: SSH without Temporal, and Temporal without Heddle.
// sh bench/peers/setup.sh FOLDER installs the tools that --peers runs beside Heddle.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { loadavg, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureSsh, measureTemporal } from './parts.mjs';
import { cpuSeconds, machineCounters, openStack, peakMemory, specOf } from './stack.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '24' },
    runs: { type: 'string', default: '3' },
    gates: { type: 'boolean', default: false },
    inline: { type: 'string', default: '50' },
    parts: { type: 'boolean', default: false },
    peers: { type: 'string' },
    profile: { type: 'string' },
  },
});
const nodes = Number(values.nodes);
const addresses = Array.from({ length: nodes }, (_, index) => addressOf(index));
const sshd = await startSshd();
const stack = await openStack({
  config: {
    scale: { inlineNodes: Number(values.inline) },
    providers: {
      rack: {
        type: 'static',
        fields: {
          machines: addresses.map((address, index) => ({ name: `m${index + 1}`, address })),
          port: sshd.port,
          user: userInfo().username,
          keyFile: join(sshd.folder, 'user'),
          knownHosts: join(sshd.folder, 'known_hosts'),
        },
      },
    },
  },
});
try {
  const worker = await stack.startWorker(
    'worker',
    values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`],
  );
  const script = { type: 'shell', fields: { script: 'true' } };
  const service = { peers: 'none', actions: { install: script, configure: script, start: script } };
  const services = values.gates
    ? { a: service, b: { ...service, requires: ['a'] }, c: { ...service, requires: ['b'] } }
    : { a: service, b: service };
  for (let run = 1; run <= Number(values.runs); run += 1) {
    const name = `steps-${run}`;
    const spec = specOf({
      name,
      nodes: {
        app: {
          count: nodes,
          provider: 'rack',
          hardware: 'small',
          image: 'any',
          services: Object.keys(services),
        },
      },
      services,
    });
    const before = { machine: machineCounters(), worker: cpuSeconds(worker.pid), server: stack.serverCpu() };
    const began = performance.now();
    const { operation } = await stack.client.apply(spec);
    const end = await stack.client.waitFor(name, operation, { everyMs: 250 });
    const seconds = (performance.now() - began) / 1_000;
    const after = { machine: machineCounters(), worker: cpuSeconds(worker.pid), server: stack.serverCpu() };
    const { state, reason, tasks } = end.operation;
    console.log(
      `${name}: ${state}${reason === undefined ? '' : ` (${reason})`} after ${seconds.toFixed(2)} s, ${tasks.done} tasks; ` +
        `CPU: worker ${(after.worker - before.worker).toFixed(2)} s, server ${(after.server - before.server).toFixed(2)} s, ` +
        `machine ${(after.machine.cpu - before.machine.cpu).toFixed(2)} s; ${after.machine.forks - before.machine.forks} forks; ` +
        `worker ${peakMemory(worker.pid)} MB; load ${loadavg()[0].toFixed(1)}`,
    );
    if (values.parts) await runParts(name, tasks.done);
    if (values.peers !== undefined) await runPeers(values.peers, seconds);
    const { operation: deletion } = await stack.client.delete(name);
    if (deletion !== undefined) await stack.client.waitFor(name, deletion, { everyMs: 250 });
  }
} finally {
  await stack.close();
  await sshd.close();
}
process.exit();

/**
 * @param {string} name
 * @param {number} tasks
 */
async function runParts(name, tasks) {
  const ssh = await measureSsh(addresses, sshd, { scripts: 6, name });
  const temporal = await measureTemporal(stack, { nodes, tasks, name: `bare-${name}` });
  for (const [part, { seconds, cpu }] of Object.entries({ SSH: ssh, Temporal: temporal }))
    console.log(`  ${part} alone: ${seconds.toFixed(2)} s, CPU of the machine ${cpu.toFixed(2)} s`);
}

/**
 * @param {string} folder
 * @param {number} seconds
 */
async function runPeers(folder, seconds) {
  for (const tool of ['asyncssh', 'parallel-ssh', 'pyinfra', 'ansible']) {
    const before = machineCounters();
    const output = execFileSync(
      join(folder, 'bin', 'python'),
      [
        fileURLToPath(new URL('peers/run.py', import.meta.url)),
        tool,
        String(sshd.port),
        join(sshd.folder, 'user'),
        '6',
        ...addresses,
      ],
      { encoding: 'utf8', env: { PATH: '/usr/bin:/bin', HOME: join(sshd.folder, 'home') } },
    );
    const cpu = machineCounters().cpu - before.cpu;
    console.log(
      `  ${tool}: ${output.trim()} s, CPU of the machine ${cpu.toFixed(2)} s; ` +
        `Heddle takes ${(seconds / Number(output)).toFixed(1)} times as long`,
    );
  }
}

/** @param {number} index */
function addressOf(index) {
  return `127.1.${Math.floor(index / 250)}.${(index % 250) + 1}`;
}

/** OpenSSH on as many loopback addresses as there are nodes; one server listens on 16 at most. */
async function startSshd() {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-sshd-'));
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  mkdirSync(join(folder, 'home'));
  const port = await freePort();
  const hostKey = execFileSync('cat', [join(folder, 'host.pub')], { encoding: 'utf8' }).trim();
  writeFileSync(
    join(folder, 'known_hosts'),
    addresses.map((address) => `[${address}]:${port} ${hostKey}\n`).join(''),
  );
  /** @type {import('node:child_process').ChildProcess[]} */
  const servers = [];
  for (let first = 0; first < addresses.length; first += 16) {
    const config = join(folder, `config-${first}`);
    writeFileSync(
      config,
      [
        `Port ${port}`,
        ...addresses.slice(first, first + 16).map((address) => `ListenAddress ${address}`),
        `HostKey ${join(folder, 'host')}`,
        `AuthorizedKeysFile ${join(folder, 'user.pub')}`,
        `PidFile ${config}.pid`,
        `SetEnv HOME=${join(folder, 'home')}`,
        'StrictModes no',
        'UsePAM no',
        'PermitRootLogin yes',
        'MaxStartups 1000',
        'LogLevel QUIET',
        '',
      ].join('\n'),
    );
    const child = spawn('/usr/sbin/sshd', ['-D', '-f', config], { stdio: 'ignore' });
    servers.push(child);
    while (!(await answers(addresses[first], port))) {
      if (child.exitCode !== null) throw new Error('sshd ended');
      await delay(10);
    }
  }
  return {
    folder,
    port,
    async close() {
      for (const child of servers) {
        const exit = once(child, 'exit');
        child.kill('SIGTERM');
        await exit;
      }
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * @param {string} host
 * @param {number} port
 */
function answers(host, port) {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  return port;
}
