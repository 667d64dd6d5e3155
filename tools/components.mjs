// @ts-check
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { bootPartsFolder } from './boot-disk.mjs';
import { bootImageFile } from './boot-image.mjs';
import { cacheFolder, isMain } from './environment.mjs';

/**
 * A real thing that tests run against. `version` gives what is there, or nothing; `missing` says why it may
 * not be.
 * @typedef {{ name: string, for: string, version: () => string | undefined, missing: string }} Component
 */

const cache = cacheFolder();
const setup = 'not here: `npm run setup:extras` installs it';

/** @type {readonly Component[]} */
const components = [
  {
    name: 'Temporal server (CLI)',
    for: 'all workflows',
    version: () => firstOf([temporalCli(), '--version']),
    missing: 'not here: `npm test` fetches it',
  },
  {
    name: 'Temporal server (built)',
    for: 'the container stack',
    version: () => firstOf([join(cache, 'servers', 'temporal-server'), '--version']),
    missing: setup,
  },
  {
    name: 'Temporal test server',
    for: 'hours in seconds',
    version: () =>
      existsSync(join(cache, 'temporal-test-server'))
        ? (firstOf(['java', '-version']) ?? 'native')
        : undefined,
    missing: setup,
  },
  {
    name: 'PostgreSQL',
    for: 'the container stack, the replicated example, provider service',
    version: () => firstOf(['sh', '-c', 'initdb --version || ls -d /usr/lib/postgresql/*/bin/initdb']),
    missing: setup,
  },
  {
    name: 'OpenSSH server',
    for: 'SSH, jump hosts, sandboxes',
    version: () => firstOf(['sh', '-c', 'test -x /usr/sbin/sshd && ssh -V 2>&1']),
    missing: setup,
  },
  {
    name: 'ping, csh, ksh, tcsh, zsh, fish',
    for: 'reachability of machines, login shells',
    version: () => {
      const programs = ['ping', 'csh', 'ksh', 'tcsh', 'zsh', 'fish'];
      const found = programs.filter(
        (program) => firstOf(['sh', '-c', `command -v ${program}`]) !== undefined,
      );
      return found.length === programs.length ? found.join(', ') : undefined;
    },
    missing: setup,
  },
  { name: 'Moto', for: 'provider aws', version: () => mark('moto', /^\.moto-(.+)$/), missing: setup },
  {
    name: 'Apache Libcloud',
    for: 'provider libcloud',
    version: () => mark('libcloud', /^\.apache-libcloud-(.+)$/),
    missing: setup,
  },
  {
    name: "Nodepool's test fixtures",
    for: 'heddle pool import',
    version: () => mark('nodepool', /^\.nodepool-(.+)$/),
    missing: setup,
  },
  {
    name: 'Buildkite agent',
    for: 'the examples for CI systems',
    version: () => mark('buildkite-agent', /^buildkite-agent-(.+)$/),
    missing: setup,
  },
  { name: 'Podman', for: 'provider docker', version: () => firstOf(['podman', '--version']), missing: setup },
  {
    name: 'podman-compose',
    for: 'automator compose',
    version: () => firstOf([join(cache, 'podman-compose', 'bin', 'podman-compose'), '--version']),
    missing: setup,
  },
  {
    name: 'libvirt',
    for: 'provider libvirt',
    version: () => firstOf(['libvirtd', '--version']),
    missing: setup,
  },
  {
    name: 'QEMU',
    for: 'provider libvirt',
    version: () => firstOf(['qemu-system-x86_64', '--version']),
    missing: setup,
  },
  {
    name: 'a virtual machine that boots',
    for: 'provider libvirt',
    version: () => (existsSync(bootImageFile()) ? 'Debian on an emulated processor' : undefined),
    missing: setup,
  },
  {
    name: 'a rescue system that boots',
    for: 'imaging of physical machines',
    version: () => (existsSync(bootPartsFolder()) ? 'Linux on an emulated processor' : undefined),
    missing: setup,
  },
  {
    name: 'sushy-emulator, pyghmi',
    for: 'providers redfish and ipmi',
    version: () => (existsSync(join(cache, 'emulators')) ? firstOf(['ipmitool', '-V']) : undefined),
    missing: setup,
  },
  {
    name: 'Ansible',
    for: 'automator ansible',
    version: () => firstOf([join(cache, 'ansible', 'bin', 'ansible'), '--version']),
    missing: setup,
  },
  {
    name: 'Puppet',
    for: 'automator puppet',
    version: () => firstOf(['puppet', '--version']),
    missing: setup,
  },
  { name: 'Chromium', for: 'pages', version: () => firstOf(['chromium', '--version']), missing: setup },
];

/** What cannot run on a machine of ours, and what stands in for it. */
const elsewhere = [
  ['Amazon EC2', 'a paid cloud: Moto stands in, behind a proxy that keeps client tokens'],
  [
    'OpenStack',
    'takes minutes to install: answers of a real one were recorded; docs/providers/openstack.md says how the suite runs on a real one',
  ],
  [
    'Docker Engine',
    'needs a kernel and rights that this has not: Podman answers the same API; docker-compose.yml is parsed, its services run as processes',
  ],
  ['Chef', 'cannot be had without its licence: never run'],
  ['KVM', 'needs a processor that lends itself to virtual machines: QEMU emulates one'],
  ['management controllers', 'hardware: emulators stand in, whose power verbs start and stop real nodes'],
];

/** One line for each, as the real tests end with. */
export function describeComponents() {
  const rows = [
    ...components.map(({ name, for: use, version, missing }) => {
      const there = version();
      return [there === undefined ? 'absent' : 'real', name, there ?? missing, use];
    }),
    ...elsewhere.map(([name = '', why = '']) => ['never', name, why, '']),
  ];
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map(
    ([state = '', name = '', text = '', use = '']) =>
      `${state.padEnd(widths[0] ?? 0)}  ${name.padEnd(widths[1] ?? 0)}  ${text}${use === '' ? '' : ` (${use})`}`,
  );
}

/** Names of components that `npm run setup:extras` installs and that are absent. */
export function missingComponents() {
  return components
    .filter(({ version, missing }) => missing === setup && version() === undefined)
    .map(({ name }) => name);
}

function temporalCli() {
  const folder = join(cache, 'temporal');
  const versions = existsSync(folder)
    ? readdirSync(folder).filter((name) => existsSync(join(folder, name, 'temporal')))
    : [];
  return join(folder, versions.toSorted().at(-1) ?? '', 'temporal');
}

/**
 * The version in the name of a file that an installation leaves when it is done.
 * @param {string} folder
 * @param {RegExp} pattern
 */
function mark(folder, pattern) {
  const path = join(cache, folder);
  if (!existsSync(path)) return undefined;
  return readdirSync(path).flatMap((name) => pattern.exec(name)?.[1] ?? [])[0];
}

/**
 * The first line that a command prints; nothing when it is not there or fails.
 * @param {readonly string[]} words
 */
function firstOf([program = '', ...words]) {
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8', timeout: 20_000 });
  return status === 0
    ? `${stdout}${stderr}`
        .split('\n')
        .find((line) => line.trim() !== '')
        ?.trim()
    : undefined;
}

if (isMain(import.meta.url)) process.stdout.write(`${describeComponents().join('\n')}\n`);
