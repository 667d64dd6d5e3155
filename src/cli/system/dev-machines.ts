import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launch, readLogTail, type Launched } from '../../server/launch.js';
import { keepUp, type KeptUp } from './keep-up.js';

export interface MachinesOptions {
  readonly folder: string;
  readonly kind: 'auto' | 'sandbox' | 'directory';
  readonly logFolder: string;
  readonly say: (line: string) => void;
  readonly onBack: () => void;
}

export interface RunningMachines extends KeptUp {
  readonly endpoint: string;
  readonly apiKeyFile: string;
  readonly kind: string;
}

const program = fileURLToPath(new URL('../../local/main.js', import.meta.url));
const startLimitMs = 60_000;

/** Starts the machine service; should it die, it is started again at the same port, and its machines boot. */
export async function startMachines({
  folder,
  kind,
  logFolder,
  say,
  onBack,
}: MachinesOptions): Promise<RunningMachines> {
  const logFile = join(logFolder, 'machines.log');
  const start = async (port: string): Promise<{ readonly child: Launched; readonly endpoint: string }> => {
    const child = await launch(
      process.execPath,
      [program, '--data', folder, '--kind', kind, '--port', port],
      { logFile },
    );
    try {
      return { child, endpoint: await waitForEndpoint(folder, child, logFile) };
    } catch (error) {
      await child.end();
      throw error;
    }
  };
  const { child, endpoint } = await start('0');
  const kept = keepUp(child, {
    name: 'machine service',
    logFile,
    say,
    onBack,
    again: async () => (await start(new URL(endpoint).port)).child,
  });
  return { endpoint, apiKeyFile: join(folder, 'api-key'), kind: await readKind(endpoint), ...kept };
}

/**
 * The service writes its address when it answers, and its process id with it: what an earlier one left does
 * not count.
 */
async function waitForEndpoint(folder: string, child: Launched, logFile: string): Promise<string> {
  let gone: string | undefined;
  void child.ended.then((how) => (gone = how));
  for (const limit = Date.now() + startLimitMs; Date.now() < limit && gone === undefined; await sleep(50)) {
    const text = await readFile(join(folder, 'endpoint.json'), 'utf8').catch(() => '{}');
    const { endpoint, pid } = JSON.parse(text) as { readonly endpoint?: string; readonly pid?: number };
    if (pid === child.pid && endpoint !== undefined) return endpoint;
  }
  const how = gone === undefined ? `did not answer within ${startLimitMs / 1_000} s` : `ended with ${gone}`;
  throw new Error(
    `The machine service ${how}. The end of its log (${logFile}):\n${await readLogTail(logFile)}`,
  );
}

async function readKind(endpoint: string): Promise<string> {
  const response = await fetch(`${endpoint}/v1/health`, { signal: AbortSignal.timeout(5_000) });
  const { kind } = (await response.json()) as { readonly kind?: string };
  return kind ?? 'of unknown kind';
}
