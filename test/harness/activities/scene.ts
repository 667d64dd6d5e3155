import { existsSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import type { ActivityParts } from '../../../src/activities/parts.js';
import type { JsonObject } from '../../../src/model/json.js';
import { startNode, type TestNode } from '../ssh-server.js';
import { openBench, request, type Bench } from './parts.js';

/** CREATE, CONFIRM and `find` return what the user's field `how` holds, as JSON. */
const provider = `
  async create() { return { result: JSON.parse(this.fields.how) }; }
  async confirm() { return { result: JSON.parse(this.fields.how) }; }
  async delete() {}
  async find(key) {
    return [{ providerid: 'm-1', key, tags: {}, state: 'running', created: JSON.parse(this.fields.how) }];
  }
`;

/**
 * Every action of a service returns its script as JSON, or fails with it where it begins with
 * FAIL. BOOTSTRAP returns what the payload holds under `echo`.
 */
const automator = `
const done = (script) => {
  if (!script.startsWith('FAIL')) return { result: JSON.parse(script) };
  throw new PluginError('ScriptFailed', 'as asked', { result: JSON.parse(script.slice(4)) });
};
export class Echo {
  constructor({ task }) { this.config = task.config; }
  async bootstrap() { return { result: this.config.echo }; }
  async install(auth, script) { return done(script); }
  async configure(auth, script) { return done(script); }
  async init(auth, script) { return done(script); }
  async start(auth, script) { return done(script); }
  async stop(auth, script) { return done(script); }
  async remove(auth, script) { return done(script); }
}
`;

/** The fields of a provider that passes its administrator's references on. */
export const passing = {
  fields: {
    admin: { login: { title: 'Login', type: 'json', passReferences: true } },
    user: { how: { title: 'How', type: 'string' } },
  },
};

/** Plugins that return whatever a test has them return: the provider `fault`, and the automator `echo`. */
export function openWithEcho(descriptor: object = {}, changes: Partial<ActivityParts> = {}): Promise<Bench> {
  return openBench(provider, changes, { callDeadlineMs: 20_000, ...descriptor }, async (root) => {
    const plugin = join(root, 'automators', 'echo');
    const errors = fileURLToPath(new URL('../../../src/plugins/errors.ts', import.meta.url));
    await mkdir(plugin, { recursive: true });
    await writeFile(
      join(plugin, 'echo.mjs'),
      `import { PluginError } from ${JSON.stringify(errors)};\n${automator}`,
    );
    await writeFile(
      join(plugin, 'echo.json'),
      JSON.stringify({
        name: 'echo',
        type: 'automator',
        entry: './echo.mjs',
        class: 'Echo',
        version: '1.0.0',
        description: 'Returns its script',
        prepares: 'users',
        fields: { admin: {}, user: { script: { title: 'Script', type: 'text' } } },
      }),
    );
  });
}

/** A worker's activities and a real node, with what shows that something was executed on the worker. */
export class Scene {
  readonly bench: Bench;
  readonly node: TestNode;
  #count = 0;
  #marker = '';

  private constructor(bench: Bench, node: TestNode) {
    this.bench = bench;
    this.node = node;
  }

  static async open(): Promise<Scene> {
    return new Scene(await openWithEcho(), await startNode());
  }

  async close(): Promise<void> {
    await this.bench.close();
    await this.node.close();
  }

  /** To be called before each test. */
  begin(): void {
    this.#count += 1;
    this.#marker = join(this.bench.folder, `executed-${this.#count}`);
  }

  /** To be called after each test. */
  expectNothingExecuted(): void {
    expect(existsSync(this.#marker)).toBe(false);
  }

  /** For a test in which a trap is to be executed; `expectNothingExecuted` passes afterwards. */
  expectExecuted(): void {
    expect(existsSync(this.#marker)).toBe(true);
    rmSync(this.#marker);
  }

  /** A reference that runs a program on the worker if anything resolves it. */
  trap(): JsonObject {
    return {
      secret: `exec:/bin/sh -c "/usr/bin/touch ${this.#marker}; echo ${this.node.target.password ?? ''}"`,
    };
  }

  /** The payload of the node. */
  payload(more: JsonObject = {}): JsonObject {
    const { host, port, user, password = '', hostKey } = this.node.target;
    const reach = {
      ipaddress: host,
      'ssh-port': port,
      'ssh-auth': { user, password },
      'ssh-host-key': hostKey,
    };
    return { ...request({}).config, providerid: 'm-1', ...reach, ...more };
  }

  /** What a request for a service's action holds; each is another task. */
  service(script: string, type = 'echo') {
    this.#count += 1;
    const action = { type, fields: { script } };
    return { taskId: `u/app-1#1/app/INSTALL/${this.#count}`, service: { name: 'app', action } };
  }
}

export async function failureOf(attempt: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await attempt.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof ApplicationFailure) return error;
  throw error;
}
