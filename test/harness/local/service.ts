import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { cleanAfterFile } from '../leftovers.js';
import { builtService } from './build.js';

const aboutSchema = z.object({
  endpoint: z.string(),
  kind: z.enum(['sandbox', 'directory']),
  sshServer: z.string(),
  apiKeyFile: z.string(),
});
const machineSchema = z.object({
  id: z.string(),
  state: z.string(),
  reason: z.string().optional(),
  hostname: z.string(),
  address: z.string(),
  port: z.number(),
  user: z.string(),
  password: z.string(),
  hostKey: z.string(),
});
export type Machine = z.infer<typeof machineSchema>;

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle local '));
  cleanAfterFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A machine service that runs as a process. */
export class TestService {
  readonly folder: string;
  readonly args: readonly string[];
  process: ChildProcess;
  about: z.infer<typeof aboutSchema>;
  log = '';

  private constructor(
    folder: string,
    args: readonly string[],
    child: ChildProcess,
    about: z.infer<typeof aboutSchema>,
  ) {
    this.folder = folder;
    this.args = args;
    this.process = child;
    this.about = about;
  }

  /** Starts one; it is ended, and its folder removed, after the file's tests. */
  static async start(args: readonly string[], folder = temporaryFolder()): Promise<TestService> {
    const { child, about, log } = await launch(folder, args);
    const service = new TestService(folder, args, child, about);
    log((text) => {
      service.log += text;
    });
    cleanAfterFile(() => service.end('SIGTERM'));
    return service;
  }

  get apiKey(): string {
    return readFileSync(this.about.apiKeyFile, 'utf8').trim();
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exited = once(this.process, 'exit');
    this.process.kill(signal);
    await exited;
  }

  /** Starts it again on the same folder. */
  async restart(): Promise<void> {
    const { child, about, log } = await launch(this.folder, this.args);
    log((text) => {
      this.log += text;
    });
    this.process = child;
    this.about = about;
  }

  async call(method: string, path: string, body?: unknown, apiKey: string = this.apiKey): Promise<Answer> {
    const response = await fetch(`${this.about.endpoint}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}` },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  /** Makes a machine, gives its id. */
  async create(changes: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const answer = await this.call('POST', '/v1/machines', createBody(changes));
    if (answer.status !== 201)
      throw new Error(`CREATE answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return z.object({ id: z.string() }).parse(answer.body).id;
  }

  async describe(id: string): Promise<Machine> {
    return machineSchema.parse((await this.call('GET', `/v1/machines/${id}`)).body);
  }

  async waitForState(id: string, state: string): Promise<Machine> {
    return until(async () => {
      const machine = await this.describe(id);
      if (machine.state === 'failed' && state !== 'failed')
        throw new Error(`machine failed: ${machine.reason}`);
      return machine.state === state ? machine : undefined;
    });
  }

  async createRunning(changes: Readonly<Record<string, unknown>> = {}): Promise<Machine> {
    return this.waitForState(await this.create(changes), 'running');
  }

  async waitUntilGone(id: string): Promise<void> {
    await until(async () => (await this.call('GET', `/v1/machines/${id}`)).status === 410);
  }
}

let counter = 0;

/** A valid request for a machine; each has a token of its own. */
export function createBody(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  counter += 1;
  return {
    key: `c/n-${counter}/1`,
    token: `token-${process.pid}-${counter}`,
    hostname: `n-${counter}`,
    flavor: 'tiny',
    image: 'host',
    tags: {},
    ...changes,
  };
}

/** Looks again until there is something; the test's own timeout ends it. */
export async function until<Value>(look: () => Promise<Value | undefined | false>): Promise<Value> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await sleep(20);
  }
}

async function launch(folder: string, args: readonly string[]) {
  const child = spawn(
    process.execPath,
    [builtService(), '--data', folder, '--boot-delay', '20', '--delete-delay', '20', ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let text = '';
  let listener: ((text: string) => void) | undefined;
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    listener?.(chunk);
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done === true) throw new Error(`The machine service did not start: ${text}`);
  return {
    child,
    about: aboutSchema.parse(JSON.parse(first.value)),
    log: (listen: (text: string) => void) => {
      listen(text);
      listener = listen;
    },
  };
}
