// Nodepool with its simulated cloud: the same cases as bench/pools.mjs. Each part has a ZooKeeper and a
// launcher of its own, on loopback.
// Usage: sh bench/nodepool/setup.sh FOLDER && node bench/nodepool/run.mjs FOLDER [PART ...]    parts: single,
// warm, burst:COUNT, queue, kill, evict, idle
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const script = (name) => fileURLToPath(new URL(name, import.meta.url));
/** Labels and limits of each part; those of bench/pools.mjs. */
const shapes = {
  warm: { minReady: 3 },
  queue: { most: 10 },
  evict: { minReady: 5, most: 5 },
  idle: { minReady: 1_000 },
};

/** Plays one part, and tells each figure: `{what, value, ...}`. */
export async function playPart(folder, part, tell) {
  const [name, count = ''] = part.split(':');
  const data = mkdtempSync(join(tmpdir(), 'heddle-nodepool-'));
  const running = [];
  const start = (command, args, options = {}) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], ...options });
    running.push(child);
    return child;
  };
  try {
    const port = await freePort();
    const zookeeper = start('java', [...zookeeperArgs(folder), writeZookeeper(data, folder, port)], {
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    await listening(port);
    const config = writeNodepool(data, folder, port, shapes[name] ?? {});
    const python = join(folder, 'python', 'bin', 'python');
    const launch = async () => {
      const child = start('env', [
        `OS_CLIENT_CONFIG_FILE=${join(data, 'clouds.yaml')}`,
        python,
        script('launcher.py'),
        config,
      ]);
      await once(createInterface(child.stdout), 'line');
      return child;
    };
    let launcher = await launch();
    const client = start(python, [
      script('client.py'),
      String(port),
      join(folder, 'tls'),
      name,
      ...(count === '' ? [] : [count]),
    ]);
    const exit = once(client, 'exit');
    for await (const line of createInterface(client.stdout)) {
      if (line === 'building') {
        await end(launcher, 'SIGKILL');
        launcher = await launch();
        continue;
      }
      const figure = JSON.parse(line);
      tell({ ...figure, load: loadavg()[0] });
      if (figure.what === 'made ready') {
        tell(await restOf({ launcher, zookeeper }));
        client.stdin.write('end\n');
      }
    }
    const [code] = await exit;
    if (code !== 0) throw new Error(`${part}: the client ended with ${code}`);
  } finally {
    for (const child of running.toReversed()) await end(child, 'SIGKILL');
    rmSync(data, { recursive: true, force: true });
  }
}

/** Share of a core in percent, over 30 s, once all is quiet. */
async function restOf({ launcher, zookeeper }) {
  await pause(10_000);
  const before = [await cpuOf(launcher), await cpuOf(zookeeper)];
  await pause(30_000);
  const after = [await cpuOf(launcher), await cpuOf(zookeeper)];
  const [worker, server] = after.map((ms, index) => (ms - before[index]) / 300);
  return { what: 'at rest', value: worker + server, worker, server, load: loadavg()[0] };
}

async function cpuOf({ pid }) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (utime + stime) * 10;
}

function zookeeperArgs(folder) {
  const jars = join(folder, 'zookeeper', 'usr', 'share', 'java');
  const logs = ['slf4j-api.jar', 'slf4j-nop.jar'].map((name) => join('/usr/share/java', name));
  const own = readdirSync(jars)
    .filter((name) =>
      /^(zookeeper|zookeeper-jute|netty-[a-z-]+|metrics-core|snappy-java|commons-cli|slf4j-api)\.jar$/.test(
        name,
      ),
    )
    .map((name) => join(jars, name));
  return [
    '-Xmx512m',
    '-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory',
    '-Dzookeeper.admin.enableServer=false',
    '-cp',
    [...own, ...logs].join(':'),
    'org.apache.zookeeper.server.quorum.QuorumPeerMain',
  ];
}

/** What is written is on the disk before it is answered, which is ZooKeeper's default. */
function writeZookeeper(data, folder, port) {
  mkdirSync(join(data, 'zookeeper'));
  const tls = join(folder, 'tls');
  const file = join(data, 'zoo.cfg');
  writeFileSync(
    file,
    [
      'tickTime=2000',
      `dataDir=${join(data, 'zookeeper')}`,
      `secureClientPort=${port}`,
      'secureClientPortAddress=127.0.0.1',
      'maxClientCnxns=100',
      `ssl.keyStore.location=${join(tls, 'server-both.pem')}`,
      'ssl.keyStore.type=PEM',
      `ssl.trustStore.location=${join(tls, 'ca.pem')}`,
      'ssl.trustStore.type=PEM',
    ].join('\n'),
  );
  return file;
}

function writeNodepool(data, folder, port, { minReady = 0, most = 100_000 }) {
  const tls = join(folder, 'tls');
  writeFileSync(
    join(data, 'clouds.yaml'),
    JSON.stringify({
      clouds: {
        fake: { auth: { username: 'fake', password: 'fake', project_id: 'fake', auth_url: 'fake' } },
      },
    }),
  );
  const label = (name) => ({ name, 'cloud-image': 'image', 'min-ram': 8192, 'flavor-name': 'Fake' });
  const file = join(data, 'nodepool.yaml');
  // YAML takes JSON as it is.
  writeFileSync(
    file,
    JSON.stringify({
      'zookeeper-servers': [{ host: '127.0.0.1', port }],
      'zookeeper-tls': {
        ca: join(tls, 'ca.pem'),
        cert: join(tls, 'client.pem'),
        key: join(tls, 'client.key'),
      },
      labels: [
        { name: 'a', 'min-ready': minReady },
        { name: 'b', 'min-ready': 0 },
      ],
      providers: [
        {
          name: 'cloud',
          driver: 'fake',
          cloud: 'fake',
          'region-name': 'here',
          rate: 0.0001,
          'cloud-images': [{ name: 'image', 'image-id': 'fake-image-id' }],
          pools: [{ name: 'main', 'max-servers': most, labels: [label('a'), label('b')] }],
        },
      ],
    }),
  );
  return file;
}

async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function listening(port) {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await pause(100);
  }
}

async function end(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , folder, ...parts] = process.argv;
  if (folder === undefined) throw new Error('usage: node bench/nodepool/run.mjs FOLDER [PART ...]');
  for (const part of parts.length > 0
    ? parts
    : ['single', 'warm', 'burst:100', 'burst:1000', 'burst:2000', 'queue', 'kill', 'evict', 'idle']) {
    await playPart(resolve(folder), part, (figure) => console.log(JSON.stringify(figure)));
  }
}
