import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import type { MachineService } from '../stack.js';
import { freePorts, freeUdpPort } from '../free-port.js';
import { until } from '../until.js';

/** The virtual environment of Python that `npm run setup:extras` makes. */
export const emulatorsFolder = join(
  env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'heddle',
  'emulators',
);
const emulators = join(emulatorsFolder, 'bin');

/** Why the emulators cannot be used here, in words for a test's title; undefined where they can. */
export const noEmulators =
  existsSync(join(emulators, 'python')) && existsSync('/usr/bin/ipmitool')
    ? undefined
    : 'npm run setup:extras has not been run';

export function emulatorProgram(name: string): string {
  return join(emulators, name);
}

/** Machines of the machine service, each behind a management controller of its own. */
export interface Rack {
  /** Fields of an account of provider type ipmi. */
  readonly fields: object;
  readonly controllers: ChildProcess;
  /** Commands that a machine's controller was given, in their order. */
  commands(machine: string): Promise<readonly string[]>;
  stop(): Promise<void>;
}

interface Details {
  readonly state: string;
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly hostKey: string;
}

export async function makeMachines(
  service: Pick<MachineService, 'call'>,
  names: readonly string[],
): Promise<readonly (Omit<Details, 'state'> & { readonly name: string; readonly id: string })[]> {
  return Promise.all(
    names.map(async (name) => {
      const { id } = (await service.call('POST', '/v1/machines', {
        key: name,
        token: `token-of-${name}`,
        hostname: `machine-${name}`,
        flavor: 'tiny',
        image: 'host',
      })) as { readonly id: string };
      const { state: _state, ...details } = await until(
        `${name} runs`,
        async () => {
          const seen = (await service.call('GET', `/v1/machines/${id}`)) as Details;
          return seen.state === 'running' && seen;
        },
        60_000,
      );
      const { address, port, user, password, hostKey } = details;
      return { name, id, address, port, user, password, hostKey };
    }),
  );
}

export async function buildRack(
  service: Pick<MachineService, 'call' | 'endpoint' | 'apiKeyFile'>,
  folder: string,
  names: readonly string[],
  more: object = {},
): Promise<Rack> {
  const apiKey = (await readFile(service.apiKeyFile, 'utf8')).trim();
  const machines = await makeMachines(service, names);
  const imagerConfig = join(folder, 'imager.json');
  await writeFile(
    imagerConfig,
    JSON.stringify({
      endpoint: service.endpoint,
      apiKey,
      machines: Object.fromEntries(machines.map(({ name, id }) => [name, id])),
    }),
    { mode: 0o600 },
  );
  const rack = await startControllers(folder, service.endpoint, apiKey, machines);
  const imager = (what: string): readonly string[] => [
    process.execPath,
    join(import.meta.dirname, 'imager.mjs'),
    imagerConfig,
    what,
    '{machine}',
    '{providerImage}',
    '{token}',
  ];
  return {
    fields: {
      machines: machines.map(({ id: _id, ...machine }) => machine),
      controllers: rack.fields,
      imager: {
        exists: imager('exists'),
        size: imager('size'),
        load: imager('load'),
        capture: imager('capture'),
      },
      readEveryMs: 50,
      settleSeconds: 20,
      ...more,
    },
    controllers: rack.process,
    commands: (machine) => rack.commands(machine),
    stop: () => rack.stop(),
  };
}

export interface Controllers {
  /** Field `controllers` of an account of provider type ipmi. */
  readonly fields: object;
  readonly process: ChildProcess;
  commands(machine: string): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/**
 * Controllers of machines of the machine service, or of what answers like it. With `boots` it
 * is told what to boot.
 */
export async function startControllers(
  folder: string,
  endpoint: string,
  apiKey: string,
  machines: readonly { readonly name: string; readonly id: string }[],
  options: { readonly boots?: boolean } = {},
): Promise<Controllers> {
  const log = join(folder, 'bmc.log');
  await writeFile(log, '');
  const ports = await freePorts(machines.length, freeUdpPort);
  const config = {
    log,
    endpoint,
    apiKey,
    ...options,
    controllers: machines.map(({ name, id }, index) => ({ name, port: ports[index], machine: id })),
  };
  const controllers = spawn(emulatorProgram('python'), [join(import.meta.dirname, 'bmcs.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  controllers.stdin.end(JSON.stringify(config));
  let output = '';
  controllers.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  await until('the controllers are ready', () => output.includes('ready'));
  return {
    fields: Object.fromEntries(
      machines.map(({ name }, index) => [
        name,
        { host: '127.0.0.1', port: ports[index], user: 'admin', password: 'secret' },
      ]),
    ),
    process: controllers,
    commands: async (machine) =>
      (await readFile(log, 'utf8'))
        .split('\n')
        .flatMap((line) => (line.startsWith(`${machine} `) ? [line.slice(machine.length + 1)] : [])),
    stop: async () => {
      if (controllers.exitCode !== null || controllers.signalCode !== null) return;
      const ended = once(controllers, 'exit');
      controllers.kill('SIGKILL');
      await ended;
    },
  };
}
