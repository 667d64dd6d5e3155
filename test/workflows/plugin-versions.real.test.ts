import { chmod, cp, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const example = join(import.meta.dirname, '..', '..', 'examples', 'plugins', 'automators', 'steps');

describe('a plugin that is changed during an operation', () => {
  let stack: Stack;
  let descriptor: string;
  beforeAll(async () => {
    stack = await startStack({ config: { plugins: ['./plugins'] } });
    const folder = join(stack.folder, 'plugins', 'automators', 'steps');
    descriptor = join(folder, 'steps.json');
    await cp(example, folder, { recursive: true });
    await chmod(join(folder, 'steps.sh'), 0o755);
  });

  const raiseVersion = async (): Promise<void> => {
    await writeFile(descriptor, (await readFile(descriptor, 'utf8')).replace('"1.0.0"', '"1.1.0"'));
  };

  it('is refused until the operation is requested again; a delete accepts a changed plugin', async () => {
    const { client, folder } = stack;
    const gate = join(folder, 'gate');
    const script = (text: string): object => ({ type: 'steps', fields: { script: text } });
    const spec = closed({
      name: 'pinned',
      nodes: { app: nodes(1, ['web']) },
      services: {
        web: {
          actions: {
            install: script(`while [ ! -e ${gate} ]; do sleep 0.1; done; echo once >>"$HOME/installed"`),
            start: script('[ "$(grep -c once "$HOME/installed")" = 1 ]'),
          },
        },
      },
    });
    const first = await stack.startWorker();
    const { operation } = await client.apply(spec);
    await until(
      'INSTALL to run',
      async () => (await client.status('pinned')).nodes[0]?.current?.action === 'INSTALL',
    );
    expect((await client.status('pinned')).plugins).toEqual({
      'provider local': { version: expect.any(String) },
      'automator steps': { version: '1.0.0', digest: expect.any(String) },
    });
    await first.stop();
    await raiseVersion();
    await writeFile(gate, '');
    const second = await stack.startWorker();

    expect((await client.waitFor('pinned', operation)).operation).toMatchObject({
      state: 'held',
      reason: expect.stringContaining(
        'plugin automator steps has version 1.1.0 instead of 1.0.0: it has changed since the operation was planned',
      ),
    });
    expect((await client.status('pinned')).nodes).toMatchObject([
      { incarnation: 1, state: 'failed', failure: { kind: 'PluginChanged', action: 'INSTALL' } },
    ]);
    await client.retry('pinned');
    expect((await client.waitFor('pinned', operation)).operation.state).toBe('done');
    const {
      plugins,
      nodes: [node],
    } = await client.status('pinned');
    expect(node).toMatchObject({ incarnation: 1, state: 'ready' });
    expect(plugins).toMatchObject({ 'automator steps': { version: '1.1.0' } });

    const { operation: deletion = '' } = await client.delete('pinned');
    expect((await client.waitFor('pinned', deletion)).operation.state).toBe('done');
    await second.stop();
  });

  it('runs as its worker registered it until that worker restarts; doctor names the worker', async () => {
    const { client, folder } = stack;
    const { run } = heddleOn(() => stack);
    const worker = await stack.startWorker();
    const code = join(folder, 'plugins', 'automators', 'steps', 'steps.sh');
    const script = { type: 'steps', fields: { script: 'true' } };
    const spec = (services: string): ClusterSpec =>
      closed({
        name: 'edited',
        nodes: { app: nodes(1, services.split(' ')) },
        services: Object.fromEntries(
          services.split(' ').map((name) => [name, { actions: { install: script, start: script } }]),
        ),
      });
    expect((await run('doctor')).stdout).toMatch(/^ok +loaded plugins/m);
    await writeFile(code, '#!/bin/sh\necho changed code ran >&2\nexit 1\n');

    const { operation } = await client.apply(spec('web'));
    expect((await client.waitFor('edited', operation)).operation.state).toBe('done');
    const registered = (await client.status('edited')).plugins;
    const { stdout } = await run('doctor');
    expect(stdout).toMatch(/^warn +loaded plugins/m);
    expect(stdout).toContain(`worker ${worker.pid}@${hostname()} runs older files of automator steps`);
    expect(stdout).toContain(`next: kill ${worker.pid}`);

    await worker.stop();
    await stack.startWorker();
    expect((await run('doctor')).stdout).toMatch(/^ok +loaded plugins/m);
    const { operation: second } = await client.apply(spec('web extra'));
    expect((await client.waitFor('edited', second)).operation.state).toBe('held');
    const { plugins, nodes: failed } = await client.status('edited');
    expect(failed[0]?.failure?.message).toContain('changed code ran');
    expect(plugins?.['automator steps']?.digest).not.toBe(registered?.['automator steps']?.digest);
  });
});
