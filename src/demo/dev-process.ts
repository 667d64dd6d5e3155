import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../config/index.js';
import { workerEnvironment } from '../config/child-environment.js';

/** The part that the demo needs of the record that `heddle dev` writes into its data folder. */
export interface DevRecord {
  readonly address: string;
  readonly namespace: string;
  readonly ui: string;
  readonly machines: { readonly endpoint: string; readonly apiKeyFile: string };
  readonly processes: { readonly worker: { readonly pid: number } };
}

export interface DevProcess {
  readonly record: DevRecord;
  /** Ends the worker as a crash would, and waits until `heddle dev` has started the next. */
  killWorker(): Promise<{ readonly killed: number; readonly started: number }>;
  stop(): Promise<void>;
}

const program = fileURLToPath(new URL('../../bin/heddle.mjs', import.meta.url));

/** Starts `heddle dev` with a data folder of its own, as a user would in another terminal. */
export async function startDev(dataFolder: string, signal: AbortSignal): Promise<DevProcess> {
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const config = join(dataFolder, 'heddle.yaml');
  await writeFile(config, '# The demo needs no settings.\n');
  // A configuration file of its own, so that nothing of the user's is read or changed. A group of its own:
  // Ctrl-C reaches the demo alone.
  const child = spawn(process.execPath, [program, 'dev'], {
    env: workerEnvironment(loadConfig().environment, {
      HEDDLE_DATA_FOLDER: dataFolder,
      HEDDLE_CONFIG: config,
    }),
    cwd: dataFolder,
    // The channel closes if the demo is killed, and `heddle dev` ends with it.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-20_000);
    });
  }
  const read = async (): Promise<DevRecord | undefined> => {
    const text = await readFile(join(dataFolder, 'dev.json'), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const record = JSON.parse(text) as DevRecord & { readonly owner: { readonly pid: number } };
    return record.owner.pid === child.pid ? record : undefined;
  };
  const waitFor = async (wanted: (record: DevRecord) => boolean, what: string): Promise<DevRecord> => {
    for (const limit = Date.now() + 60_000; Date.now() < limit; await pause(50)) {
      signal.throwIfAborted();
      if (child.exitCode !== null) throw new Error(`heddle dev ended with ${child.exitCode}:\n${output}`);
      const record = await read();
      if (record !== undefined && wanted(record)) return record;
    }
    throw new Error(`${what} took longer than a minute; heddle dev printed:\n${output}`);
  };
  const stop = (): Promise<void> => end(child);
  try {
    const record = await waitFor(() => true, 'starting');
    return {
      record,
      stop,
      async killWorker() {
        const killed = ((await read()) ?? record).processes.worker.pid;
        process.kill(killed, 'SIGKILL');
        const { processes } = await waitFor((now) => now.processes.worker.pid !== killed, 'a new worker');
        return { killed, started: processes.worker.pid };
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
