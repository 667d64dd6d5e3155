import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../config/child-environment.js';

/** A machine service for one test: real SSH on loopback and a REST API. See docs/providers/local.md. */
export interface MachineService {
  readonly endpoint: string;
  readonly apiKey: string;
  /** Calls the API. @throws Error for any answer but success. */
  call(method: string, path: string, body?: object): Promise<unknown>;
  /** Machines that are there. */
  machines(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

/** Found from the built product as well as from source. */
const program = fileURLToPath(new URL('../../dist/local/main.js', import.meta.url));

/** Starts one in a temporary folder. `sandbox` needs Linux and root. */
export async function startMachineService(
  kind: 'directory' | 'sandbox' = 'directory',
  /** How long a machine takes to go, in ms. */
  deleteDelayMs = 20,
): Promise<MachineService> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-machines-'));
  const settings = ['--boot-delay', '20', '--delete-delay', `${deleteDelayMs}`, '--log-level', 'warn'];
  const child = spawn(process.execPath, [program, '--data', folder, '--kind', kind, ...settings], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: childEnvironment(),
  });
  const close = async (): Promise<void> => {
    await end(child);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const first = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  if (first.done === true) {
    await close();
    throw new Error(`the machine service did not start; is ${program} built?`);
  }
  const { endpoint, apiKeyFile } = JSON.parse(first.value) as {
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
  return {
    endpoint,
    apiKey,
    call,
    close,
    machines: async () =>
      (
        (await call('GET', '/v1/machines?limit=1000')) as {
          readonly machines: readonly Readonly<Record<string, unknown>>[];
        }
      ).machines,
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
