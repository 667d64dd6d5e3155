import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ImageInput, Outcome, PluginContext, SystemInput } from '../../../src/plugins/contract.js';
import { loadRegistry, type Registry } from '../../../src/plugins/registry.js';
import { startNode, type TestNode } from '../../harness/ssh-server.js';
import { createPool, type ConnectionPool } from '../../../src/ssh/pool.js';
import { createShell } from '../../../src/ssh/shell.js';
import { makeTask } from '../../../src/testing/attempt.js';
import { writeFiles } from '../../harness/programs/bench.js';
import { newFolder } from '../../harness/folder.js';

const actions = ['bootstrap', 'install', 'configure', 'init', 'start', 'stop', 'remove'];

const system = `
export class System {
  constructor({ shell }) { this.shell = shell; }
  ${actions.map((name) => `async ${name}() {}`).join('\n  ')}
  async sanitize({ user, resetNode }) {
    const { stdout } = await this.shell.exec(['echo', user]);
    const reset = await resetNode();
    return { answer: reset.answer, why: stdout.trim() + ': ' + (reset.why ?? 'was reset') };
  }
  async checkImage({ image }) { return { is: 'yes', why: image.name }; }
}
`;

const cloud = `
export class Cloud {
  async create() {}
  async confirm() {}
  async delete() {}
  async load({ image, progress }) {
    for (const part of ['half', 'all']) progress(part + ' of ' + image.name);
    return { answer: 'done' };
  }
}
`;

const program = `#!/usr/bin/env python3
import json, sys
task = json.loads(sys.stdin.readline())
given = task["input"]["arguments"][0]
print(json.dumps({"id": 1, "request": "resetNode"}), flush=True)
reset = json.loads(sys.stdin.readline())
print(json.dumps({"status": 0, "result": {"answer": reset["result"]["answer"], "why": given["user"]}}))
`;

const input = (resetNode: SystemInput['resetNode']): SystemInput => ({
  image: { name: 'web', revision: '1' },
  machine: { id: 'm', hostname: 'h' },
  user: 'kim',
  at: '2026-01-01T00:00:00.000Z',
  resetNode,
});

describe('abilities of plugins that are not built in', () => {
  let folder: string;
  let registry: Registry;
  let node: TestNode;
  let pool: ConnectionPool;
  beforeAll(async () => {
    folder = newFolder();
    const about = { version: '1.0.0', description: 'for a test' };
    writeFiles(folder, {
      'automators/system/system.mjs': system,
      'automators/system/system.json': {
        ...about,
        name: 'system',
        type: 'automator',
        entry: './system.mjs',
        class: 'System',
      },
      'automators/script/script.py': program,
      'automators/script/script.json': {
        ...about,
        name: 'script',
        type: 'automator',
        command: ['./script.py'],
        requests: ['resetNode'],
        abilities: ['sanitize'],
      },
      'providers/cloud/cloud.mjs': cloud,
      'providers/cloud/cloud.json': {
        ...about,
        name: 'cloud',
        type: 'provider',
        entry: './cloud.mjs',
        class: 'Cloud',
        idempotency: 'token',
        consistencyWindowMs: 0,
      },
    });
    registry = await loadRegistry({ folders: [folder], log: { info: () => undefined } });
    node = await startNode();
    pool = createPool();
  });
  afterAll(async () => {
    await pool.closeAll();
    await registry.close();
    await node.close();
  });

  function context(): PluginContext {
    const drop = (): void => undefined;
    return {
      task: makeTask({
        taskName: 'BOOTSTRAP',
        nodeId: 'app-1',
        clusterUid: 'u',
        config: {},
        provider: { name: 'p', type: 'cloud', fields: {} },
      }),
      log: { debug: drop, info: drop, warn: drop, error: drop },
      signal: new AbortController().signal,
      fields: {},
    };
  }
  const automator = (name: string) =>
    registry
      .automator(name)
      .create({ ...context(), shell: createShell({ pool, target: node.target, runId: 'r' }) });

  test('a class reaches the machine, and requests its reset', async () => {
    let resets = 0;
    const reset = (outcome: Outcome) => () => {
      resets += 1;
      return Promise.resolve(outcome);
    };
    const own = automator('system');
    expect(await own.sanitize?.(input(reset({ answer: 'done' })))).toEqual({
      answer: 'done',
      why: 'kim: was reset',
    });
    expect(await own.sanitize?.(input(reset({ answer: 'not done', why: 'no power' })))).toEqual({
      answer: 'not done',
      why: 'kim: no power',
    });
    expect(resets).toBe(2);
    expect(await own.checkImage?.(input(reset({ answer: 'done' })))).toEqual({ is: 'yes', why: 'web' });
    expect(own.preReload).toBeUndefined();
  });

  test('a program in another language requests a reset', async () => {
    expect(await automator('script').sanitize?.(input(() => Promise.resolve({ answer: 'done' })))).toEqual({
      answer: 'done',
      why: 'kim',
    });
  });

  test('a class reports progress', async () => {
    const said: string[] = [];
    const order: ImageInput = {
      key: 'k',
      tags: {},
      fields: {},
      image: { name: 'web', revision: '1' },
      providerImage: 'web@1',
      token: 't',
      progress: (text) => void said.push(text),
    };
    expect(await registry.provider('cloud').create(context()).load?.(order)).toEqual({ answer: 'done' });
    expect(said).toEqual(['half of web', 'all of web']);
  });
});
