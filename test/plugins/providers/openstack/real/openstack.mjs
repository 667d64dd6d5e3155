// @ts-check
import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cacheFolder, runMain, say } from '../../../../../tools/environment.mjs';
import { anyPort, authUrl, catalog, database, neutronTables, ports, settings, toIni } from './settings.mjs';

/**
 * A real OpenStack on loopback, of Debian's packages in a folder of its own: Keystone, Placement, Glance,
 * Neutron, and Nova with its fake hypervisor. Needs root and debootstrap; 1.2 GB of disk, 2 GB of memory.
 *
 *   node test/plugins/providers/openstack/real/openstack.mjs install|up|down|remove
 */
const root = join(cacheFolder(), 'openstack');
const done = join(root, '.installed');
const packages =
  'keystone nova-api nova-conductor nova-scheduler nova-compute placement-api rabbitmq-server glance-api neutron-server';

const verbs = { install, up, down, remove };
const verb = verbs[/** @type {keyof typeof verbs} */ (process.argv[2])];
await runMain(async () => {
  if (verb === undefined) throw new Error(`say one of ${Object.keys(verbs).join(', ')}`);
  await verb();
});

async function install() {
  if (existsSync(done)) return say(`OpenStack is installed: ${root}`);
  say(`installs OpenStack into ${root}: 270 MB to download, 1.2 GB on disk, 5 to 10 minutes`);
  const { stdout } = spawnSync(
    'apt-get',
    ['indextargets', '--format', '$(REPO_URI) $(CODENAME)', 'Created-By: Packages'],
    { encoding: 'utf8' },
  );
  const [uri = '', codename = ''] =
    stdout
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, name]) => name !== undefined && !name.includes('-')) ?? [];
  run(['debootstrap', '--variant=minbase', codename, root, uri]);
  run([
    'sh',
    '-ec',
    `cp /etc/resolv.conf /etc/hosts "$1"/etc/; rm -f "$1"/etc/apt/sources.list; for one in sources.list sources.list.d apt.conf.d; do [ ! -e /etc/apt/$one ] || cp -r /etc/apt/$one "$1"/etc/apt/; done`,
    'sh',
    root,
  ]);
  // Nothing is to start by itself.
  write('usr/sbin/policy-rc.d', '#!/bin/sh\nexit 101\n', 0o755);
  await mounted(async () => {
    inside([
      'sh',
      '-ec',
      `apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends ${packages}`,
    ]);
    for (const [file, sections] of Object.entries(settings)) write(join('etc', file), toIni(sections));
    write('etc/keystone/catalog.templates', `${catalog}\n`);
    write('usr/lib/python3/dist-packages/anyport.py', anyPort);
    write(
      'usr/lib/python3/dist-packages/anyport-1.0.dist-info/METADATA',
      'Metadata-Version: 2.1\nName: anyport\nVersion: 1.0\n',
    );
    write(
      'usr/lib/python3/dist-packages/anyport-1.0.dist-info/entry_points.txt',
      '[neutron.ml2.mechanism_drivers]\nanyport = anyport:AnyPort\n',
    );
    write('srv/os/images/.keep', '');
    write('srv/os/neutron-tables.py', neutronTables);
    say('makes the databases');
    inside([
      'sh',
      '-ec',
      [
        'mkdir -p /etc/keystone/fernet-keys /etc/keystone/credential-keys',
        'keystone-manage db_sync',
        'keystone-manage fernet_setup --keystone-user root --keystone-group root',
        'keystone-manage credential_setup --keystone-user root --keystone-group root',
        'keystone-manage bootstrap --bootstrap-password pw',
        'placement-manage db sync',
        'nova-manage api_db sync',
        `nova-manage cell_v2 map_cell0 --database_connection '${database('nova_cell0')}'`,
        `nova-manage cell_v2 create_cell --name cell1 --database_connection '${database('nova')}' --transport-url rabbit://guest:guest@127.0.0.1:${ports.rabbit}/`,
        'nova-manage db sync',
        'glance-manage db_sync',
        'python3 /srv/os/neutron-tables.py',
        // Readers then do not wait for who writes.
        'for one in /srv/os/*.db; do python3 -c "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute(\'PRAGMA journal_mode=WAL\')" $one; done',
      ].join(' && '),
    ]);
  });
  writeFileSync(done, '');
}

async function up() {
  if (!existsSync(done)) throw new Error('OpenStack is not installed: say install first');
  if (processes().length > 0) throw new Error('OpenStack is up, or was not taken down: say down first');
  run(['mount', '-t', 'proc', 'proc', join(root, 'proc')]);
  const erlang = {
    HOME: '/var/lib/rabbitmq',
    RABBITMQ_NODENAME: 'rabbit@localhost',
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
  };
  start('rabbit', ['rabbitmq-server'], erlang);
  start('keystone', ['keystone-wsgi-public', '--host', '127.0.0.1', '--port', String(ports.keystone)]);
  start('placement', ['placement-api', '--host', '127.0.0.1', '--port', String(ports.placement)]);
  await answering('rabbit', 'keystone', 'placement');
  start('glance', ['glance-api', '--config-file', '/etc/glance/glance-api.conf']);
  start('neutron', [
    'neutron-server',
    '--config-file',
    '/etc/neutron/neutron.conf',
    '--config-file',
    '/etc/neutron/plugins/ml2/ml2_conf.ini',
  ]);
  for (const service of ['nova-conductor', 'nova-scheduler', 'nova-api']) start(service, [service]);
  start('nova-compute', [
    'nova-compute',
    '--config-file',
    '/etc/nova/nova.conf',
    '--config-file',
    '/etc/nova/nova-compute.conf',
  ]);
  await answering('glance', 'neutron', 'nova');
  say(
    `OpenStack is up: HEDDLE_OPENSTACK_URL=${authUrl} HEDDLE_OPENSTACK_PASSWORD=pw; logs are in ${join(root, 'log')}`,
  );
}

async function down() {
  // Some have left the session that they were started in; whatever lives in this folder is ours.
  for (const pid of processes()) process.kill(pid, 'SIGKILL');
  await pause(500);
  spawnSync('umount', [join(root, 'proc')]);
}

async function remove() {
  await down();
  // Never into what is mounted.
  if (existsSync(join(root, 'proc', '1')))
    throw new Error(`${join(root, 'proc')} is still mounted: umount it first`);
  rmSync(root, { recursive: true, force: true });
}

/** @param {string} name @param {string[]} words @param {Record<string, string>} [environment] */
function start(name, words, environment = { HOME: '/root' }) {
  mkdirSync(join(root, 'log'), { recursive: true });
  const log = openSync(join(root, 'log', `${name}.log`), 'a');
  const child = spawn('chroot', [root, ...words], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...environment },
  });
  closeSync(log);
  child.unref();
}

/** Those whose root folder is ours. */
function processes() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/root`) === root;
      } catch {
        // It ended meanwhile.
        return false;
      }
    })
    .map(Number);
}

/** @param {(keyof typeof ports)[]} names */
async function answering(...names) {
  for (const name of names) {
    const end = Date.now() + 120_000;
    while (!(await listens(ports[name]))) {
      if (Date.now() > end)
        throw new Error(`${name} does not answer; its log is in ${join(root, 'log')}. Say down.`);
      await pause(200);
    }
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function listens(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });
}

/** @param {string} file @param {string} content @param {number} [mode] */
function write(file, content, mode = 0o644) {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), content, { mode });
}

/** @param {() => Promise<void>} work */
async function mounted(work) {
  run(['mount', '-t', 'proc', 'proc', join(root, 'proc')]);
  try {
    await work();
  } finally {
    run(['umount', join(root, 'proc')]);
  }
}

/** @param {string[]} words */
function inside(words) {
  run(['chroot', root, '/usr/bin/env', 'HOME=/root', ...words]);
}

/** @param {string[]} words */
function run([program = '', ...words]) {
  const { status, error, stdout, stderr } = spawnSync(program, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${(stdout + stderr).slice(-1_500)}`);
}
