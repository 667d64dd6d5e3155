import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, WithStartWorkflowOperation, type WorkflowFailedError } from '@temporalio/client';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { maxNodes } from '../../src/schema/cluster/spec.js';
import type { ClusterStatus } from '../../src/schema/output/status.js';
import { startCodecServer } from '../../src/secrets/codec-server.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { nodes } from '../harness/workflows/spec.js';

const run = promisify(execFile);
const script = { type: 'shell', fields: { script: 'true' } };

describe("a cluster workflow started without Heddle's client", () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });

  const rawSpec = (name: string): object => ({
    name,
    nodes: { app: nodes(1, ['app']) },
    services: { app: { actions: { start: script } } },
  });

  async function deleteWhenReady(name: string): Promise<void> {
    const { client } = stack;
    const { operation } = await client.waitFor(name, '1', { everyMs: 100 });
    expect(operation).toMatchObject({ state: 'done', by: 'workflow start' });
    const { operation: deletion = '' } = await client.delete(name);
    expect((await client.waitFor(name, deletion, { everyMs: 100 })).operation.state).toBe('done');
  }

  it.concurrent('accepts a raw spec from any client with the plugin, and reports by query when it is ready', async () => {
    const handle = await stack.client.temporal.workflow.start('cluster', {
      workflowId: 'cluster/raw',
      taskQueue: 'heddle',
      args: [rawSpec('raw')],
    });
    const status = await until('the cluster is idle', async () => {
      const now = await handle.query<ClusterStatus>('status');
      return now.history[0]?.state === 'done' && now;
    });
    expect(status).toMatchObject({
      name: 'raw',
      phase: 'idle',
      nodes: [{ nodeId: 'app-1', state: 'ready' }],
    });
    await deleteWhenReady('raw');
  });

  it.concurrent('accepts a raw spec from the temporal CLI through the codec server', async () => {
    const keyRing = openKeyRing({ folder: join(stack.folder, 'keys'), create: false });
    const codec = await startCodecServer({ keyRing, port: 0, origins: [], namespaces: [stack.namespace] });
    try {
      await run(
        inject('temporalBinary'),
        [
          'workflow',
          'start',
          '--address',
          inject('temporalAddress'),
          '--namespace',
          stack.namespace,
          '--codec-endpoint',
          codec.url,
          '--type',
          'cluster',
          '--task-queue',
          'heddle',
          '--workflow-id',
          'cluster/cli',
          '--input',
          JSON.stringify(rawSpec('cli')),
        ],
        { env: { PATH: '', HOME: stack.folder } },
      );
      await deleteWhenReady('cli');
    } finally {
      await codec.stop();
    }
  });

  it.concurrent('fails with the remedy if its spec came in plaintext', async () => {
    const plain = new Client({ connection: stack.client.temporal.connection, namespace: stack.namespace });
    await plain.workflow.start('cluster', {
      workflowId: 'cluster/plain',
      taskQueue: 'heddle',
      args: [rawSpec('plain')],
    });
    const failure = await failureOf('cluster/plain');
    expect(failure).toMatch(
      /^A payload is not encrypted.*Heddle's client or its Temporal plugin.*--codec-endpoint URL/,
    );
    expect(failure).not.toContain('app');
  });

  it.concurrent('refuses an update in plaintext with the same message, and creates no cluster', async () => {
    const plain = new Client({ connection: stack.client.temporal.connection, namespace: stack.namespace });
    const startWorkflowOperation = new WithStartWorkflowOperation('cluster', {
      workflowId: 'cluster/plain-update',
      taskQueue: 'heddle',
      args: [{ heddle: { uid: 'u', features: { searchAttributes: false } } }],
      workflowIdConflictPolicy: 'FAIL',
    });
    const update = plain.workflow.executeUpdateWithStart('apply', {
      args: [{ spec: rawSpec('plain-update'), by: 'me' }],
      startWorkflowOperation,
    });
    await expect(update).rejects.toThrow();
    expect(await failureOf('cluster/plain-update')).toMatch(/^A payload is not encrypted/);
  });

  it.concurrent.each([
    [
      'unknown provider',
      { nodes: { app: nodes(1, ['app'], { provider: 'nowhere' }) } },
      'nodes.app.provider: names provider "nowhere"',
    ],
    [
      'unknown automator',
      { services: { app: { actions: { start: { type: 'cfengine' } } } } },
      'services.app.actions.start.type: names automator "cfengine"',
    ],
    [
      'script missing',
      { services: { app: { actions: { start: { type: 'shell' } } } } },
      'The plugin requires script, or scriptFile, or scripts and file',
    ],
    [
      'circle',
      {
        nodes: { app: nodes(1, ['app', 'b']) },
        services: { app: { requires: ['b'] }, b: { requires: ['app'] } },
      },
      'app -> b -> app',
    ],
    ['zero nodes', { nodes: { app: nodes(0, ['app']) } }, 'nodes.app.count'],
    ['too many nodes', { nodes: { app: nodes(maxNodes + 1, ['app']) } }, 'nodes.app.count'],
    ['another name', { name: 'other' }, 'name: is "other", but the workflow belongs to cluster'],
    ['minimum', { nodes: { app: nodes(2, ['app'], { minimum: 3 }) } }, 'nodes.app.minimum'],
    ['several at once', { nodes: { app: nodes(1, ['app', 'ap'], { hardwear: 1 }) } }, 'hardwear'],
  ])(
    'a first spec that is wrong ends it with the problems and no side effect: %s',
    async (what, change, words) => {
      const name = `wrong-${what.replaceAll(' ', '-')}`;
      const spec = { ...rawSpec(name), ...change };
      await stack.client.temporal.workflow.start('cluster', {
        workflowId: `cluster/${name}`,
        taskQueue: 'heddle',
        args: [spec],
      });
      expect(await failureOf(`cluster/${name}`)).toContain(words);
      const status = await stack.client.status(name);
      expect(status).toMatchObject({
        nodes: [],
        history: [{ id: '1', state: 'rejected', tasks: { done: 0 } }],
      });
      expect(
        (await stack.service.journal('create')).filter(({ hostname }) => String(hostname).startsWith(name)),
      ).toEqual([]);
    },
  );

  it.concurrent('is refused under another workflow id than cluster/<name>', async () => {
    await stack.client.temporal.workflow.start('cluster', {
      workflowId: 'my-cluster',
      taskQueue: 'heddle',
      args: [rawSpec('my-cluster')],
    });
    expect(await failureOf('my-cluster')).toBe(
      'a cluster\'s workflow id is cluster/<name>, not "my-cluster"',
    );
  });

  async function failureOf(workflowId: string): Promise<string> {
    const error: unknown = await stack.client.temporal.workflow
      .getHandle(workflowId)
      .result()
      .then(
        () => undefined,
        (reason: unknown) => reason,
      );
    return (error as WorkflowFailedError | undefined)?.cause?.message ?? `no failure: ${String(error)}`;
  }
});
