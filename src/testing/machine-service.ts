import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Machine } from '../plugins/contract.js';
import { childEnvironment } from '../config/child-environment.js';

/**
 * A machine service for one test: real SSH on loopback and a REST API. See docs/reference/providers/local.md.
 */
export interface MachineService {
  readonly endpoint: string;
  readonly apiKey: string;
  /** Calls the API. @throws Error for any answer but success. */
  call(method: string, path: string, body?: object): Promise<unknown>;
  /** How many machines one page of a list holds. */
  readonly pageSize: number;
  /** The state of a machine in the words of plugins; undefined if it is gone. */
  stateOf(id: string): Promise<Machine['state'] | undefined>;
  /** Has the next machine that is created start and never run. */
  stallNext(): Promise<void>;
  /** Machines that are there. */
  machines(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

const states: Readonly<Record<string, Machine['state']>> = {
  running: 'running',
  stopped: 'stopped',
  failed: 'failed',
  deleting: 'deleting',
};

/** Found from the built product as well as from source. */
const program = fileURLToPath(new URL('../../dist/local/main.js', import.meta.url));

export interface MachineServiceOptions {
  /** `sandbox` needs Linux and root. Default: directory. */
  readonly kind?: 'directory' | 'sandbox' | undefined;
  /** How long a machine takes to go, in ms. Default: 300, long enough for find to be asked while it goes. */
  readonly deleteDelayMs?: number | undefined;
  /** Most machines in one page of a list. Default: 2, so that lists have several pages. */
  readonly pageSize?: number | undefined;
  /** How long lists and descriptions omit a new machine, in ms. Default: 0. */
  readonly lagMs?: number | undefined;
}

/** Starts one in a temporary folder. */
export async function startMachineService({
  kind = 'directory',
  deleteDelayMs = 300,
  pageSize = 2,
  lagMs = 0,
}: MachineServiceOptions = {}): Promise<MachineService> {
  // The service removes it, also if this process is killed.
  const folder = mkdtempSync(join(tmpdir(), 'heddle-machines-'));
  const settings = [
    '--boot-delay',
    '20',
    '--delete-delay',
    `${deleteDelayMs}`,
    '--page-size',
    `${pageSize}`,
    '--log-level',
    'warn',
    '--temporary',
  ];
  const child = spawn(process.execPath, [program, '--data', folder, '--kind', kind, ...settings], {
    // The channel ends it if this process is killed. Ctrl-C must not: cases delete their machines first.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    detached: true,
    env: childEnvironment(),
  });
  const close = async (): Promise<void> => {
    await end(child);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  child.channel?.unref();
  try {
    return await connect(child, { pageSize, lagMs, close });
  } catch (error) {
    await close();
    throw error;
  }
}

/** The client of a service that starts. */
async function connect(
  child: ChildProcess,
  { pageSize, lagMs, close }: { readonly lagMs: number } & Pick<MachineService, 'pageSize' | 'close'>,
): Promise<MachineService> {
  const first = await firstLine(child);
  if (first === undefined) throw new Error(`the machine service did not start; is ${program} built?`);
  const { endpoint, apiKeyFile } = JSON.parse(first) as {
    readonly endpoint: string;
    readonly apiKeyFile: string;
  };
  const apiKey = readFileSync(apiKeyFile, 'utf8').trim();
  const call: MachineService['call'] = async (method, path, body) => {
    const response = await fetch(`${endpoint}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  if (lagMs > 0) await call('POST', '/v1/faults', { fault: 'list-lag', ms: lagMs, count: 0 });
  return {
    endpoint,
    apiKey,
    pageSize,
    call,
    close,
    stateOf: async (id) => {
      const answer = await fetch(`${endpoint}/v1/machines/${id}`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      const { state = '' } = (await answer.json()) as { readonly state?: string };
      return answer.ok ? (states[state] ?? 'starting') : undefined;
    },
    stallNext: async () => {
      await call('POST', '/v1/faults', { fault: 'never-boots' });
    },
    machines: async () => {
      const found: Readonly<Record<string, unknown>>[] = [];
      for (let page: string | undefined = ''; page !== undefined;) {
        const query = page === '' ? '' : `&page=${encodeURIComponent(page)}`;
        const answer = (await call('GET', `/v1/machines?limit=1000${query}`)) as {
          readonly machines: readonly Readonly<Record<string, unknown>>[];
          readonly next?: string;
        };
        found.push(...answer.machines);
        page = answer.next;
      }
      return found;
    },
  };
}

async function firstLine({ stdout }: ChildProcess): Promise<string | undefined> {
  if (stdout === null) return undefined;
  const line = await createInterface({ input: stdout })[Symbol.asyncIterator]().next();
  return line.done === true ? undefined : line.value;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
