import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { HeddleClient } from '../../src/client/index.js';
import { loadConfig } from '../../src/config/index.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { type Parents, startParents } from '../harness/docs/parents.js';
import { compilePrograms, type Programs } from '../harness/docs/programs.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';

const run = promisify(execFile);

/** The programs of docs/guides/embedding.md, and workflows that use a cluster in other ways. */
describe('a program with clusters of its own', () => {
  let programs: Programs;
  let stack: Stack;
  let program: ChildProcess;
  let output = '';
  let parents: Parents;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    programs = compilePrograms('docs/guides/embedding.md');
    stack = await startStack();
    const keys = join(stack.folder, 'keys');
    const dataFolder = join(stack.folder, 'own');
    mkdirSync(dataFolder, { mode: 0o700 });
    const config = join(stack.folder, 'own.yaml');
    const { endpoint, apiKeyFile } = stack.service;
    const fields = { endpoint, apiKey: { secret: `file:${apiKeyFile}` } };
    const providers = { local: { type: 'local', fields } };
    writeFileSync(config, stringify({ dataFolder, keys: { folder: keys }, providers }));
    environment = {
      PATH: loadConfig().environment['PATH'],
      HOME: stack.folder,
      HEDDLE_CONFIG: config,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: stack.namespace,
    };
    program = spawn(process.execPath, [join(programs.folder, 'worker.js')], {
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    program.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
    const keyRing = openKeyRing({ folder: keys, create: false });
    parents = await startParents(inject('temporalAddress'), stack.namespace, keyRing);
    await until('the program is ready', () => output.includes('"ready"'));
  });

  afterAll(async () => {
    await parents.stop();
    const ended = once(program, 'exit');
    program.kill('SIGTERM');
    await ended;
    await stack.stop();
    programs.remove();
  });

  const one = (name: string, script = 'true') => ({
    name,
    nodes: { app: { count: 1, provider: 'local', hardware: 'small', image: 'host', services: ['app'] } },
    services: { app: { actions: { install: { type: 'shell', fields: { script } } } } },
  });
  const start = (workflow: string, ...args: readonly unknown[]) =>
    stack.client.temporal.workflow.start(workflow, {
      taskQueue: parents.taskQueue,
      workflowId: `${workflow}-${Math.random()}`,
      args: [...args],
    });

  it('starts a cluster by a workflow, uses its nodes, and deletes it', async () => {
    const { stdout: exported } = await run(
      process.execPath,
      [join(import.meta.dirname, '../../bin/heddle.mjs'), 'keys', 'export'],
      { env: environment },
    );
    const { stdout } = await run(process.execPath, [join(programs.folder, 'start.js')], {
      env: { ...environment, HEDDLE_KEYS: exported },
    });
    expect(stdout).toMatch(/^app-1 127\.\S+, app-2 127\.\S+\n$/);
    expect(output).toContain('output of a task');
    expect(await stack.service.machines()).toEqual([]);
  });

  it('deletes the cluster when its workflow is cancelled', async () => {
    const gate = join(stack.folder, 'gate');
    const handle = await stack.client.temporal.workflow.start('runOnCluster', {
      taskQueue: 'jobs',
      workflowId: 'cancelled',
      args: [one('cancelled', `until [ -e ${gate} ]; do sleep 0.1; done`)],
    });
    await until('a machine is there', async () => (await stack.service.machines()).length > 0);
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
    expect(await stack.service.machines()).toEqual([]);
  });

  it('learns that a cluster is held, retried, and deleted', async () => {
    const fixed = join(stack.folder, 'fixed');
    const handle = await start('watch', one('watched', `[ -e ${fixed} ]`));
    const seen = () => handle.query<readonly string[]>('seen');
    await until('the cluster is held', async () => (await seen()).length === 1);
    expect(await seen()).toEqual(['apply held']);
    writeFileSync(fixed, '');
    await stack.client.retry('watched');
    await until('the cluster is ready', async () => (await seen()).length === 2);
    // In the next run of the parent.
    await handle.signal('renew');
    await until('the parent has continued as new', async () => {
      const { runId } = await handle.describe();
      return runId !== handle.firstExecutionRunId;
    });
    await stack.client.delete('watched');
    expect(await handle.result()).toEqual(['apply held', 'apply done', 'delete done']);
    expect(await stack.service.machines()).toEqual([]);
  });

  it('learns that a spec is rejected, and that a locked cluster is not deleted', async () => {
    const rejected = await start('createAndDelete', {
      ...one('rejected'),
      nodes: { app: { count: 1, provider: 'none', hardware: 'small', image: 'host' } },
    });
    expect(await rejected.result()).toEqual([
      expect.objectContaining({ state: 'rejected', reason: expect.stringContaining('none') }),
    ]);
    const locked = await start('createAndDelete', { ...one('locked'), lock: true });
    expect(await locked.result()).toEqual([
      expect.objectContaining({ state: 'done' }),
      expect.objectContaining({ state: 'rejected', reason: expect.stringContaining('lock') }),
    ]);
    const { operation } = await stack.client.apply({ ...(await stack.client.spec('locked'))!, lock: false });
    await stack.client.waitFor('locked', operation);
    const { operation: deletion = '' } = await stack.client.delete('locked');
    await stack.client.waitFor('locked', deletion);
  });

  it('leaves a cluster alone when its workflow is terminated, however the child was started', async () => {
    for (const [workflow, name] of [
      ['watch', 'left'],
      ['startPlainly', 'plain'],
    ] as const) {
      const handle = await start(workflow, one(name));
      await until('the cluster is ready', async () => {
        const status = await stack.client.status(name).catch(() => undefined);
        return status?.phase === 'idle' && status.history.length === 1;
      });
      await handle.terminate();
      const { operation = '' } = await stack.client.delete(name);
      expect((await stack.client.waitFor(name, operation)).operation.state).toBe('done');
    }
    expect(await stack.service.machines()).toEqual([]);
  });

  it('is refused a cluster that would be terminated with its workflow', async () => {
    const handle = await start('startPlainly', one('refused'), 'TERMINATE');
    const failure = await handle.result().catch((error: WorkflowFailedError) => error.cause);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect((failure as ApplicationFailure).message).toContain('omit parentClosePolicy');
    await expect(stack.client.status('refused')).rejects.toMatchObject({ code: 'NotFound' });
  });

  it("has an error of code Encryption for a Temporal client without Heddle's plugin", () => {
    const { options } = stack.client.temporal;
    const bare = new Client({ ...options, plugins: [], interceptors: {}, dataConverter: {} });
    expect(() => new HeddleClient(bare)).toThrow(
      expect.objectContaining({ code: 'Encryption', message: expect.stringContaining('plugins: [heddle(') }),
    );
  });
});
