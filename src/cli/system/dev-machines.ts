import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launch } from '../../server/launch.js';
import { keepUp, startLimitMs, type KeptUp, type Upkeep } from './keep-up.js';

interface MachinesOptions extends Upkeep {
  readonly folder: string;
  readonly kind: 'auto' | 'sandbox' | 'directory';
}

export interface RunningMachines extends KeptUp {
  readonly endpoint: string;
  readonly apiKeyFile: string;
  readonly kind: string;
}

const program = fileURLToPath(new URL('../../local/main.js', import.meta.url));

/** Starts the machine service, and restarts it at the same port if it dies; its machines then boot. */
export async function startMachines({
  folder,
  kind,
  logFolder,
  ...upkeep
}: MachinesOptions): Promise<RunningMachines> {
  const logFile = join(logFolder, 'machines.log');
  let endpoint = 'http://127.0.0.1:0';
  const kept = await keepUp({
    ...upkeep,
    name: 'machine service',
    logFile,
    launch: () => {
      const port = new URL(endpoint).port;
      const args = [program, '--data', folder, '--kind', kind, '--port', port];
      return launch(process.execPath, args, { logFile });
    },
    isReady: async ({ pid }, isRunning) => {
      for (const limit = Date.now() + startLimitMs; Date.now() < limit && isRunning(); await sleep(50)) {
        const written = await readEndpoint(folder);
        // An earlier service may have left the file.
        if (written.pid !== pid || written.endpoint === undefined) continue;
        endpoint = written.endpoint;
        return true;
      }
      return false;
    },
  });
  return { endpoint, apiKeyFile: join(folder, 'api-key'), kind: await readKind(endpoint), ...kept };
}

/** The service writes its address and its process id when it answers. */
async function readEndpoint(folder: string): Promise<{ readonly endpoint?: string; readonly pid?: number }> {
  const text = await readFile(join(folder, 'endpoint.json'), 'utf8').catch(() => '{}');
  return JSON.parse(text) as Awaited<ReturnType<typeof readEndpoint>>;
}

async function readKind(endpoint: string): Promise<string> {
  const response = await fetch(`${endpoint}/v1/health`, { signal: AbortSignal.timeout(5_000) });
  const { kind } = (await response.json()) as { readonly kind?: string };
  return kind ?? 'of unknown kind';
}
