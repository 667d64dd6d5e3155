import { createHash, randomBytes } from 'node:crypto';
import { realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Addresses } from './addresses.js';
import { loadApiKey } from './api-key.js';
import { chooseKind } from './choose-kind.js';
import { Extras } from './extras.js';
import { Faults } from './faults.js';
import { makePrivateFolder, writeJsonFile } from './files.js';
import { Imaging } from './image/imaging.js';
import { Inventory } from './inventory.js';
import { Journal } from './journal.js';
import { Library } from './image/library.js';
import type { Logger } from 'pino';
import { isHeld, takeLock } from '../detached/lock-file.js';
import { machineStates } from './machine.js';
import { Machines } from './machines.js';
import type { Options } from './options.js';
import { Power } from './power.js';
import { hasProcFs } from '../config/process-table.js';
import { killMarked, markerVariable } from './processes.js';
import { Quota } from './quota.js';
import { addRoutes } from './http/routes.js';
import { serveApi, type HttpServer } from './http/server.js';
import { spawn, type ChildProcess } from 'node:child_process';
import { childEnvironment } from '../config/child-environment.js';

export interface Service {
  readonly about: {
    readonly endpoint: string;
    readonly kind: string;
    readonly sshServer: string;
    readonly addresses: string;
  };
  /** Logs the current state; the service continues. */
  dump(): void;
  /**
   * A power cut: all machines end, and what they are made of stays for the next start. Further calls wait for
   * the end of the first.
   */
  stop(): Promise<void>;
}

/**
 * Starts the machine service on a data folder.
 * @throws Error with the obstacle.
 */
export async function startService(options: Options, log: Logger): Promise<Service> {
  makePrivateFolder(options.dataFolder);
  // Processes are compared with it, and the kernel knows only real paths.
  const dataFolder = realpathSync(options.dataFolder);
  const lock = await takeLock(join(dataFolder, 'lock'));
  if (!isHeld(lock))
    throw new Error(
      `Another machine service (process ${lock.owner.pid}) works on ${dataFolder}. Stop it, or give this one another --data folder.`,
    );
  const undo: (() => void | Promise<void>)[] = [() => lock.release()];
  const undoAll = async (): Promise<void> => {
    for (const step of undo.toReversed()) await step();
  };
  try {
    const service = await startLocked({ ...options, dataFolder }, log, undo);
    let stopping: Promise<void> | undefined;
    return { ...service, stop: () => (stopping ??= undoAll()) };
  } catch (error) {
    await undoAll();
    throw error;
  }
}

async function startLocked(
  options: Options,
  log: Logger,
  undo: (() => void | Promise<void>)[],
): Promise<Omit<Service, 'stop'>> {
  const { dataFolder } = options;
  const folderTag = createHash('sha256').update(dataFolder).digest('hex').slice(0, 16);
  const markerStart = `${folderTag}.${randomBytes(4).toString('hex')}`;
  const inventory = new Inventory(dataFolder);
  const left = await killMarked(`${folderTag}.`, inventory.folder);
  if (left > 0) log.warn(`ended ${left} processes of machines that outlived the last run`);
  await inventory.load();

  const guard = startGuard(markerStart);
  undo.push(() => {
    guard?.stdin?.destroy();
  });
  const addresses =
    options.address === undefined
      ? await Addresses.open(dataFolder, options.addressRange)
      : Addresses.at(options.address);
  undo.push(() => addresses.close());
  const library = new Library(dataFolder);
  const { chosen, working, sshServer } = await chooseKind(
    { requested: options.kind, sshd: options.sshd, dataFolder, markerStart, library },
    addresses,
    log,
  );

  const faults = new Faults();
  const journal = new Journal(dataFolder);
  undo.push(() => journal.close());
  const quota = new Quota(dataFolder);
  const power = new Power(inventory, working, options, log);
  undo.push(() => power.stop());
  const machines = new Machines({
    inventory,
    journal,
    quota,
    addresses,
    faults,
    power,
    kind: chosen,
    library,
    pageSize: options.pageSize,
  });
  const imaging = new Imaging({
    inventory,
    journal,
    library,
    kinds: working,
    power,
    log,
    writeDelayMs: options.writeDelayMs,
  });
  undo.push(() => imaging.stop());
  const extras = new Extras(dataFolder, (machine) => inventory.get(machine) !== undefined);
  const about = { service: 'heddle-local', kind: chosen.name, sshServer, addresses: addresses.description };
  const host = options.address ?? '127.0.0.1';
  const api = await serveApi({
    host,
    port: options.port,
    apiKey: loadApiKey(dataFolder),
    log,
    addRoutes: (app) => addRoutes(app, { machines, imaging, extras, quota, journal, faults, library, about }),
  });
  undo.push(() => api.close());
  power.restore();
  imaging.restore();

  const endpoint = `http://${host}:${api.port}`;
  const endpointFile = join(dataFolder, 'endpoint.json');
  writeJsonFile(endpointFile, { endpoint, pid: process.pid });
  undo.push(() => rmSync(endpointFile, { force: true }));
  return { about: { ...about, endpoint }, dump: () => dump(api, inventory, faults, log) };
}

function dump(api: HttpServer, inventory: Inventory, faults: Faults, log: Logger): void {
  const now = Date.now();
  // Requested by signal, so it is logged at any level.
  log.child({}, { level: 'debug' }).debug(
    {
      calls: [...api.inFlight].map(({ method, path, since }) => ({ method, path, ageMs: now - since })),
      machines: Object.fromEntries(
        machineStates.map((state) => [
          state,
          inventory.all().filter((machine) => machine.state === state).length,
        ]),
      ),
      busy: inventory
        .all()
        .filter(({ state }) => state !== 'running' && state !== 'stopped')
        .slice(0, 100)
        .map(({ id, hostname, state, reason }) => ({ id, hostname, state, reason })),
      faults: faults.list(),
      resources: process.getActiveResourcesInfo().length,
    },
    'heddle.stack_dump',
  );
}

// Reads until the service's end of the pipe is gone, then kills what carries the marker. Only the service's
// death closes the pipe.
const script = `
while read -r _; do :; done
for round in 1 2 3; do
  for folder in /proc/[0-9]*; do
    if tr '\\0' '\\n' 2>/dev/null <"$folder/environ" | grep -q "^$1"; then kill -9 "\${folder#/proc/}" 2>/dev/null; fi
  done
done 2>/dev/null`;

/**
 * Kills the machines when the service dies, even by SIGKILL, from a shell in a session of its own. Without
 * /proc, the next start kills them.
 */
function startGuard(markerStart: string): ChildProcess | undefined {
  if (!hasProcFs) return undefined;
  const guard = spawn('/bin/sh', ['-c', script, 'heddle-guard', `${markerVariable}=${markerStart}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: childEnvironment({ set: { PATH: '/usr/local/bin:/usr/bin:/bin' } }),
    cwd: '/',
  });
  guard.on('error', () => undefined);
  guard.stdin?.on('error', () => undefined);
  guard.unref();
  return guard;
}
