import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { DocumentName } from '../../src/schema/output/documents.js';
import { documentSchema } from '../harness/cli/output-documents.js';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { type Stack, startStack, type WorkerProcess } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { nodes } from '../harness/workflows/spec.js';

describe('the published schemas describe the JSON output', () => {
  let stack: Stack;
  let worker: WorkerProcess;
  beforeAll(async () => {
    stack = await startStack();
    worker = await stack.startWorker();
  });

  const { run } = heddleOn(() => stack);

  /** Runs a command; its document, or each of its lines, must be as the published schema says. */
  const check = async (
    schema: DocumentName,
    code: number,
    ...words: readonly string[]
  ): Promise<Readonly<Record<string, unknown>>> => {
    const { stdout, code: ended } = await run(...words, '--json');
    expect(ended, `${words.join(' ')}: ${stdout}`).toBe(code);
    const texts = schema === 'status-watch' ? stdout.trim().split('\n') : [stdout];
    const documents = texts.map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>);
    for (const document of documents) {
      const found = documentSchema(schema).safeParse(document);
      expect(found.error, `${words.join(' ')}: ${JSON.stringify(document)}`).toBeUndefined();
    }
    return documents.at(-1) ?? {};
  };

  const write = async (count: number, start: string): Promise<string> => {
    const shell = (script: string): object => ({ type: 'shell', fields: { script } });
    const file = join(stack.folder, 'web.yaml');
    await writeFile(
      file,
      JSON.stringify({
        name: 'web',
        labels: { team: 'shop' },
        nodes: { app: nodes(count, ['web']) },
        services: {
          web: {
            peers: 'none',
            rolling: { batch: 1 },
            check: { command: 'true' },
            actions: { configure: shell('echo configured'), start: shell(start), stop: shell('true') },
          },
        },
        outputs: {
          address: { value: '${{ nodes.app-1.ipaddress }}', description: 'Of the first node.' },
          last: { value: '${{ nodes.app-1.nothing }}' },
          key: { value: 'hidden', secret: true },
        },
      }),
    );
    return file;
  };

  it('of a cluster from its plan to its history', async () => {
    const file = await write(2, 'echo started');
    expect(await check('validate', 0, 'validate', file)).toMatchObject({ schemaVersion: 1, valid: true });
    expect(await check('plan', 0, 'plan', file)).toMatchObject({ counts: { create: 2 } });
    const outputs = { address: { value: expect.any(String) }, last: { missing: expect.any(String) } };
    const applied = await check('operation', 0, 'apply', file);
    expect(applied).toMatchObject({
      operation: { state: 'done' },
      outputs: { ...outputs, key: { secret: true } },
    });
    expect(JSON.stringify(applied['outputs'])).not.toContain('hidden');
    expect(await check('operation', 0, 'apply', file)).toMatchObject({ unchanged: true });
    expect(await check('operation', 0, 'restart', 'web', 'web', '--no-wait')).toMatchObject({
      operation: { id: expect.any(String) },
    });
    await check('status-watch', 0, 'status', 'web', '--watch');
    await until('it is indexed', async () => (await run('list')).stdout.includes('team=shop'));
    expect(await check('list', 0, 'list')).toMatchObject({ clusters: [{ name: 'web' }] });
    expect(await check('nodes', 0, 'nodes', 'web')).toMatchObject({ nodes: [{ nodeId: 'app-1' }, {}] });
    expect(await check('status', 0, 'status', 'web', '--probe')).toMatchObject({ outputs });
    expect((await run('status', 'web')).stdout).toMatch(/^address +127\..*\nlast .*\nkey +\(secret\)$/m);
    expect(await check('output', 0, 'output', 'web')).toMatchObject({
      outputs: { address: { value: expect.any(String) }, last: { missing: expect.any(String) } },
    });
    expect(await check('output', 0, 'output', 'web', 'key')).toMatchObject({ value: 'hidden' });
    const { operations } = await check('history', 0, 'history', 'web');
    expect(operations).toHaveLength(3);
  });

  it('of changes to it, drift, and an operation that is held', async () => {
    const [machine] = await stack.service.machines();
    await stack.service.call('DELETE', `/v1/machines/${String(machine?.['id'])}`);
    const file = await write(3, 'echo broken; exit 3');
    const plan = await check('plan', 0, 'plan', file);
    expect(plan).toMatchObject({ drift: [{ seen: 'gone' }], specChanges: expect.any(Array) });
    expect(plan['specChanges']).not.toEqual([]);
    expect(await check('operation', 1, 'apply', file)).toMatchObject({
      operation: { state: 'held' },
      failures: expect.arrayContaining([expect.objectContaining({ exitCode: 3 })]),
      error: { code: 'Held' },
    });
    expect(await check('status', 0, 'status', 'web')).toMatchObject({
      phase: 'held',
      operation: { failures: expect.arrayContaining([expect.objectContaining({ action: 'START' })]) },
    });
    await check('status-watch', 0, 'status', 'web', '--watch');
    await check('nodes', 0, 'nodes', 'web');
    await check('operation', 0, 'cancel', 'web');
    await check('history', 0, 'history', 'web');
  });

  it('of a cluster that is deleted', async () => {
    const file = join(stack.folder, 'short.yaml');
    await writeFile(file, JSON.stringify({ name: 'short', nodes: { app: nodes(1, []) } }));
    await check('operation', 0, 'apply', file);
    expect(await check('plan', 0, 'delete', 'short', '--plan')).toMatchObject({ lostDisks: ['app-1'] });
    await check('operation', 0, 'delete', 'short', '--yes');
    expect(await check('status', 0, 'status', 'short')).toMatchObject({ ended: expect.any(String) });
    await check('history', 0, 'history', 'short');
  });

  it('of errors, of a file that is wrong, and of a cluster without a worker', async () => {
    expect(await check('error', 4, 'status', 'nope')).toMatchObject({ error: { code: 'NotFound' } });
    await check('error', 2, 'list', '--nope');
    const wrong = join(stack.folder, 'wrong.yaml');
    await writeFile(wrong, 'name: Wrong\nnodes: {}\n');
    await check('error', 2, 'plan', wrong);
    expect(await check('validate', 2, 'validate', wrong)).toMatchObject({
      valid: false,
      problems: [{ line: 1 }, {}],
      error: { code: 'Invalid' },
    });
    await worker.stop();
    expect(await check('status', 5, 'status', 'web')).toMatchObject({ partial: true });
    expect(await check('operation', 5, 'delete', 'web', '--yes')).toMatchObject({ kept: true });
  });

  it('and a document that lacks a member, or has one that they do not describe, does not match', () => {
    const report = { code: 'Held', message: 'it is held' };
    const matches = (document: object): boolean => documentSchema('error').safeParse(document).success;
    expect(matches({ schemaVersion: 1, error: report })).toBe(true);
    expect(matches({ schemaVersion: 1, error: { ...report, more: 1 } })).toBe(false);
    expect(matches({ schemaVersion: 2, error: report })).toBe(false);
    expect(matches({ error: report })).toBe(false);
    expect(matches({ schemaVersion: 1, error: { code: 'Held' } })).toBe(false);
  });
});
