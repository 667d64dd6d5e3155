// @ts-check
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { makeBootParts } from './boot-disk.mjs';
import { makeBootImage } from './boot-image.mjs';
import { installSite } from './docs.mjs';
import { cacheFolder, messageOf, root, runMain, say } from './environment.mjs';
import { getTimeSkipping } from './get-time-skipping.mjs';
import { makeNodeImage } from './node-image.mjs';
import { getNodeReleases } from './node-releases.mjs';

/** What `npm run test:real` needs of the system, and how to see that it is there. */
const packages = [
  { name: 'postgresql', has: () => onPath('initdb') || postgresFolder() },
  { name: 'openssh-server', has: () => existsSync('/usr/sbin/sshd') },
  { name: 'sudo', has: () => onPath('sudo') },
  { name: 'podman', has: () => onPath('podman') },
  { name: 'runc', has: () => onPath('runc') },
  { name: 'iptables', has: () => onPath('iptables') },
  { name: 'catatonit', has: () => existsSync('/usr/bin/catatonit') || onPath('catatonit') },
  { name: 'debootstrap', has: () => onPath('debootstrap') },
  { name: 'puppet-agent', has: () => onPath('puppet') },
  { name: 'ruby', has: () => onPath('ruby') },
  { name: 'python3-venv', has: () => spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0 },
  { name: 'ipmitool', has: () => onPath('ipmitool') },
  { name: 'libvirt-clients', has: () => onPath('virsh') },
  { name: 'libvirt-daemon', has: () => existsSync('/usr/sbin/libvirtd') },
  {
    name: 'libvirt-daemon-driver-qemu',
    has: () =>
      spawnSync('sh', ['-c', 'ls /usr/lib/*/libvirt/connection-driver/libvirt_driver_qemu.so']).status === 0,
  },
  { name: 'qemu-system-x86', has: () => onPath('qemu-system-x86_64') },
  { name: 'qemu-utils', has: () => onPath('qemu-img') },
  { name: 'dnsmasq-base', has: () => onPath('dnsmasq') },
  { name: 'mtools', has: () => onPath('mcopy') },
  { name: 'iproute2', has: () => onPath('ip') },
  { name: 'default-jre-headless', has: () => onPath('java') },
  { name: 'maven', has: () => onPath('mvn') },
  { name: 'iputils-ping', has: () => onPath('ping') },
  { name: 'zsh', has: () => onPath('zsh') },
  { name: 'csh', has: () => existsSync('/bin/bsd-csh') },
  { name: 'tcsh', has: () => onPath('tcsh') },
  { name: 'ksh', has: () => onPath('ksh') },
  { name: 'fish', has: () => onPath('fish') },
  { name: 'tmux', has: () => onPath('tmux') },
  { name: 'prometheus', has: () => onPath('promtool') },
  {
    name: 'chromium',
    has: () => onPath('chromium') || onPath('chromium-browser') || onPath('google-chrome'),
  },
];

/**
 * Emulators of management controllers, pure Python, in an environment of their own; `imports` tells whether
 * they are there.
 */
const emulators = {
  folder: 'emulators',
  packages: ['pyghmi==1.6.19', 'sushy-tools==2.2.0'],
  imports: 'import pyghmi, sushy_tools',
};

/** The newest that runs on Python 3.11. */
const ansible = 'ansible-core==2.19.14';

/** What runs compose files on Podman, for automator compose. */
const podmanCompose = 'podman-compose==1.6.0';

/**
 * Programs for tests are not optimised, and memory is not saved: together this takes 40 % less time of
 * processors, measured with the object store.
 */
const goEnvironment = { ...process.env, GOFLAGS: '"-gcflags=all=-N -l"', GOGC: '400' };

/** @typedef {readonly [title: string, install: () => unknown]} Step */

/** @type {readonly Step[]} */
const steps = [
  ['packages of the system', installPackages],
  ['releases of Node', getNodeReleases],
  ['Moto', installMoto],
  ['Apache Libcloud', installLibcloud],
  ['Nodepool', installNodepool],
  ['emulators of management controllers', () => installEmulators(join(cacheFolder(), emulators.folder))],
  ['the image of the container tests', makeNodeImage],
  ['the rescue system', makeBootParts],
  ['the boot image', makeBootImage],
  ['Ansible', installAnsible],
  ['podman-compose', installPodmanCompose],
  ['the packages of the site of docs/', installSite],
  ['the time-skipping server', getTimeSkipping],
  ['the object store', buildObjectStore],
  ["Buildkite's agent", buildBuildkiteAgent],
  ['actionlint', buildActionlint],
  ['the servers of the container stack', buildServers],
];

await runMain(() => installAll(steps));

/**
 * A step that fails keeps no other one from being tried.
 * @param {readonly Step[]} all
 */
async function installAll(all) {
  /** @type {string[]} */
  const failed = [];
  for (const [title, install] of all) {
    try {
      await install();
    } catch (error) {
      failed.push(title);
      say(`${title}: ${messageOf(error)}`);
    }
  }
  if (failed.length > 0) throw new Error(`not installed: ${failed.join(', ')}`);
}

/** The Temporal server and its Web UI of the container stack. */
function buildServers() {
  const servers = join(cacheFolder(), 'servers');
  if (existsSync(join(servers, 'temporal-server')) && existsSync(join(servers, 'ui-server')))
    return say(`the servers are built: ${servers}`);
  requireGo();
  say(
    `builds Temporal's server and Web UI of the container stack from source into ${servers}: about 15 minutes, once`,
  );
  run(['sh', join(root, 'test', 'deploy', 'build-servers.sh'), servers], goEnvironment);
}

/** Moto emulates EC2 for the tests of provider aws. */
function installMoto() {
  installPython('moto', ['moto[ec2]==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5']);
}

/** What provider libcloud runs on. */
function installLibcloud() {
  const file = join(root, 'src', 'plugins', 'providers', 'libcloud', 'requirements.txt');
  const [first = ''] = /^apache-libcloud==\S+/m.exec(readFileSync(file, 'utf8')) ?? [];
  installPython('libcloud', [first], ['--only-binary=:all:', '--require-hashes', '-r', file]);
}

/** Nodepool's own test fixtures, which the import of its configuration is tested with. It is never run. */
function installNodepool() {
  installPython('nodepool', ['nodepool==11.0.0', '--no-deps']);
}

/**
 * Installs packages into an environment of their own. A file such as .moto-5.2.5 says that the first is
 * complete.
 * @param {string} name of the folder
 * @param {[string, ...string[]]} packages
 * @param {readonly string[]} words for pip
 */
function installPython(name, packages, words = packages) {
  const folder = join(cacheFolder(), name);
  const done = join(folder, `.${packages[0].replace(/\[.*\]/, '').replace('==', '-')}`);
  if (existsSync(done)) return say(`${name} is there: ${folder}`);
  say(`installs ${packages.join(', ')} from the Python package index into ${folder}`);
  run(['rm', '-rf', folder]);
  run(['python3', '-m', 'venv', folder]);
  run([join(folder, 'bin', 'pip'), 'install', '--quiet', '--disable-pip-version-check', ...words]);
  writeFileSync(done, '');
}

/** The Versity S3 Gateway, an object store for the tests of logs. */
function buildObjectStore() {
  buildProgram('versitygw', 'github.com/versity/versitygw/cmd/versitygw', '1.8.0');
}

/**
 * The agent of Buildkite, which runs the hook of the examples. A newer one needs a module that cannot be had
 * everywhere.
 */
function buildBuildkiteAgent() {
  buildProgram('buildkite-agent', 'github.com/buildkite/agent/v3', '3.62.0');
}

/** Checks the workflows of GitHub. */
function buildActionlint() {
  buildProgram('actionlint', 'github.com/rhysd/actionlint/cmd/actionlint', '1.7.12');
}

/**
 * Builds a program in Go from source, as NAME/NAME-VERSION in the cache folder.
 * @param {string} name
 * @param {string} source
 * @param {string} version
 */
function buildProgram(name, source, version) {
  const folder = join(cacheFolder(), name);
  const program = join(folder, `${name}-${version}`);
  if (existsSync(program)) return say(`${name} is there: ${program}`);
  say(`builds ${name} from source into ${folder}: about two minutes`);
  mkdirSync(folder, { recursive: true });
  requireGo();
  run(['go', 'install', `${source}@v${version}`], { ...goEnvironment, GOBIN: folder, CGO_ENABLED: '0' });
  // A module's version is not part of the name of its program.
  const built = basename(source.replace(/\/v\d+$/, ''));
  renameSync(join(folder, built), program);
}

/** @param {string} folder */
function installEmulators(folder) {
  const python = join(folder, 'bin', 'python');
  if (existsSync(python) && spawnSync(python, ['-c', emulators.imports]).status === 0) return;
  say(`installs ${emulators.packages.join(' and ')} into ${folder}`);
  run(['python3', '-m', 'venv', folder]);
  run([
    join(folder, 'bin', 'pip'),
    'install',
    '--quiet',
    '--disable-pip-version-check',
    ...emulators.packages,
  ]);
}

function requireGo() {
  if (!onPath('go')) throw new Error('Go is not on PATH; install it to build this program');
}

function installPackages() {
  const names = packages.filter(({ has }) => !has()).map(({ name }) => name);
  if (names.length === 0) return;
  if (!onPath('apt-get'))
    throw new Error(`${names.join(' and ')} must be installed by hand: there is no apt-get here`);
  if (process.getuid?.() !== 0)
    throw new Error(`${names.join(' and ')} must be installed by root: apt-get install ${names.join(' ')}`);
  say(`installs the system's packages ${names.join(' and ')} by apt-get, without starting their services`);
  run(['apt-get', 'update', '-q']);
  // Neither a database nor an SSH server is to run for the whole system: the tests start their own.
  const guard = '/usr/sbin/policy-rc.d';
  const script = `if [ ! -e ${guard} ]; then printf '#!/bin/sh\\nexit 101\\n' >${guard}; chmod 755 ${guard}; trap 'rm -f ${guard}' EXIT; fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends ${names.join(' ')}`;
  run(['sh', '-ec', script]);
}

/** Into a folder of its own: the system's Python is left as it is. */
function installAnsible() {
  installPython('ansible', [ansible]);
}

/** A newer one than Debian's, into a folder of its own. */
function installPodmanCompose() {
  installPython('podman-compose', [podmanCompose]);
}

/** @param {string[]} words */
function run([program = '', ...words], env = process.env) {
  const { status, error } = spawnSync(program, words, {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}`);
}

/** @param {string} program */
function onPath(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

function postgresFolder() {
  return spawnSync('sh', ['-c', 'ls /usr/lib/postgresql/*/bin/initdb']).status === 0;
}
