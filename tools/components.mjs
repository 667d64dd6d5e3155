// @ts-check
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { bootPartsFolder } from './boot-disk.mjs';
import { bootImageFile } from './boot-image.mjs';
import { cacheFolder, isMain } from './environment.mjs';
import { nodeProgram, nodeReleases } from './node-releases.mjs';

/**
 * A program that tests run against. `version` gives what is there, or nothing; `missing` says why it may not
 * be; `emulates` names the system whose place it takes.
 * @typedef {{ name: string, for: string, emulates?: string, version: () => string | undefined, missing:
 * string }} Component
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
  {
    name: 'Node.js',
    for: 'the installed package',
    version: () =>
      nodeReleases.every((release) => existsSync(nodeProgram(release))) ? nodeReleases.join(', ') : undefined,
    missing: setup,
  },
  {
    name: 'Moto',
    for: 'providers aws and libcloud',
    emulates: 'Amazon EC2',
    version: () => mark('moto', /^\.moto-(.+)$/),
    missing: setup,
  },
  {
    name: 'Versity S3 Gateway',
    for: 'logs in an object store',
    emulates: 'Amazon S3',
    version: () => mark('versitygw', /^versitygw-(.+)$/),
    missing: setup,
  },
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
  {
    name: 'Podman',
    for: 'provider docker',
    emulates: 'Docker Engine',
    version: () => firstOf(['podman', '--version']),
    missing: setup,
  },
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
    emulates: 'KVM',
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
    emulates: 'management controllers',
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
  { name: 'Ruby', for: 'plugins in Ruby', version: () => firstOf(['ruby', '--version']), missing: setup },
  {
    name: 'promtool',
    for: 'metrics, alert rules and the dashboard',
    version: () => firstOf(['promtool', '--version']),
    missing: setup,
  },
  {
    name: 'actionlint',
    for: 'the workflows of CI and releases',
    version: () => mark('actionlint', /^actionlint-(.+)$/),
    missing: setup,
  },
  { name: 'Chromium', for: 'pages', version: () => firstOf(['chromium', '--version']), missing: setup },
];

/**
 * What no test runs against, and what takes its place.
 * @type {readonly { name: string, for: string, why: string }[]}
 */
const elsewhere = [
  {
    name: 'Amazon EC2',
    for: 'providers aws and libcloud',
    why: 'a paid cloud: Moto, behind a proxy that keeps client tokens',
  },
  {
    name: 'OpenStack',
    for: 'providers openstack and libcloud',
    why: 'takes minutes to install: recorded answers of a real one; its own server side in memory',
  },
  { name: 'DigitalOcean', for: 'provider libcloud', why: 'a paid cloud: an emulator of the tests' },
  {
    name: 'Docker Engine',
    for: 'provider docker, the container stack',
    why: 'needs rights that test machines lack: Podman answers the same API; services of docker-compose.yml run as processes',
  },
  { name: 'Chef', for: 'automator chef', why: 'needs a licence: a program of the tests with its arguments' },
  { name: 'KVM', for: 'provider libvirt', why: 'needs a processor with virtualisation: QEMU emulates one' },
  {
    name: 'management controllers',
    for: 'providers redfish and ipmi',
    why: 'hardware: emulators, whose power verbs start and stop real nodes',
  },
  { name: 'Temporal Cloud', for: 'all workflows', why: 'a paid service: Temporal servers of one host' },
];

/** One line for each, as the real tests end with. */
export function describeComponents() {
  const rows = [
    ...components.map(({ name, for: use, emulates, version, missing }) => {
      const there = version();
      return [
        there === undefined ? 'absent' : emulates === undefined ? 'real' : 'emulator',
        name,
        there ?? missing,
        use,
      ];
    }),
    ...elsewhere.map(({ name, for: use, why }) => ['never', name, why, use]),
  ];
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map(
    ([state = '', name = '', text = '', use = '']) =>
      `${state.padEnd(widths[0] ?? 0)}  ${name.padEnd(widths[1] ?? 0)}  ${text}${use === '' ? '' : ` (${use})`}`,
  );
}

/** The tables of docs/reference/tested-with.md. */
export function testedWithTables() {
  const real = components.filter(({ emulates }) => emulates === undefined);
  const emulators = components.filter(({ emulates }) => emulates !== undefined);
  return [
    table(
      'Real',
      ['system', 'tests'],
      real.map((one) => [one.name, one.for]),
    ),
    table(
      'Emulators',
      ['emulator', 'takes the place of', 'tests'],
      emulators.map((one) => [one.name, one.emulates ?? '', one.for]),
    ),
    table(
      'Never',
      ['system', 'concerns', 'tested instead with'],
      elsewhere.map((one) => [one.name, one.for, one.why]),
    ),
  ].join('\n\n');
}

/** @param {string} heading @param {readonly string[]} columns @param {readonly (readonly string[])[]} rows */
function table(heading, columns, rows) {
  const lines = [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [`## ${heading}`, '', ...lines].join('\n');
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
