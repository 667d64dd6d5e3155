import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sendContent } from '../../../src/client/artifact/content.js';
import { artifactPartWorkflowId } from '../../../src/model/names.js';
import { resourcePartBytes } from '../../../src/model/artifact/state.js';
import { writeArchive } from '../../../src/store/archive/write-archive.js';
import { type Stack, startStack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { closed, nodes } from '../../harness/workflows/spec.js';

/**
 * A folder with a script that leaves a word, by way of a second one beside it, in a file outside of all
 * machines.
 */
function scripts(word: string): Uint8Array {
  return writeArchive([
    {
      path: 'bin/install.sh',
      kind: 'file',
      executable: true,
      bytes: Buffer.from('. "$HEDDLE_SCRIPTS/lib.sh"\nsay "$LEDGER"\n'),
    },
    { path: 'lib.sh', kind: 'file', bytes: Buffer.from(`say() { echo "$HEDDLE_NODE ${word}" >>"$1"; }\n`) },
  ]);
}

describe('resources', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });

  const ledgerOf = (name: string): string => join(stack.folder, `ledger-${name}`);
  const linesOf = async (name: string): Promise<readonly string[]> =>
    (await readFile(ledgerOf(name), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  const specOf = (name: string, resource: object, more: object = {}): ReturnType<typeof closed> =>
    closed({
      name,
      nodes: { app: nodes(1, ['web']) },
      services: {
        web: {
          actions: {
            install: {
              type: 'shell',
              fields: {
                scripts: resource,
                file: 'bin/install.sh',
                environment: { LEDGER: ledgerOf(name) },
                ...more,
              },
            },
          },
        },
      },
    });
  const done = async (name: string, { operation }: { readonly operation: string }): Promise<void> => {
    expect((await stack.client.waitFor(name, operation)).operation).toMatchObject({ state: 'done' });
  };

  it('stay as a cluster has them until it is applied again, and roll back with it', async () => {
    const { client } = stack;
    const { resources } = client;
    expect(await resources.put('web', { format: 'archive', bytes: scripts('first') })).toMatchObject({
      version: 1,
    });
    const spec = specOf('pins', { resource: 'web' });
    await done('pins', await client.apply(spec));
    expect(await linesOf('pins')).toEqual(['app-1 first']);

    expect(await resources.put('web', { format: 'archive', bytes: scripts('second') })).toMatchObject({
      version: 2,
    });
    expect((await client.plan(spec)).plan.kinds.flatMap(({ chain }) => chain)).toEqual([]);
    await resources.set('web', 2);
    expect((await client.plan(spec)).plan.kinds).toMatchObject([
      {
        purpose: 'update',
        chain: [{ action: 'INSTALL', service: 'web', reason: 'its installation changed' }],
      },
    ]);
    await done('pins', await client.operate('pins', { kind: 'replace', nodes: ['app-1'] }));
    expect(await linesOf('pins')).toEqual(['app-1 first', 'app-1 first']);

    await done('pins', await client.apply(spec));
    expect((await linesOf('pins')).slice(2)).toEqual(['app-1 second']);
    await done('pins', await client.operate('pins', { kind: 'rollback' }));
    expect((await linesOf('pins')).slice(3)).toEqual(['app-1 first']);
    expect((await resources.rollBack('web')).set).toBe(1);
    await done('pins', await client.apply(spec));
    expect(await linesOf('pins')).toHaveLength(4);
  });

  it('the planner refuses a resource that is absent, of another kind, or of an unknown digest or version', async () => {
    const { client } = stack;
    await client.resources.put('single', { format: 'file', bytes: Buffer.from('echo') });
    for (const [reference, wrong] of [
      [
        { resource: 'nowhere' },
        'services.web.actions.install.fields.scripts: names resource "nowhere", which does not exist or has no set version. Run \'heddle resource list nowhere\'',
      ],
      [
        { resource: 'single' },
        'names resource "single", which is a file; an archive is needed. Put a folder, or a tar archive.',
      ],
      [{ resource: 'single', version: 7 }, 'names version 7 of resource "single", which does not exist'],
      [
        { resource: 'single', digest: `sha256:${'0'.repeat(64)}` },
        `names content sha256:${'0'.repeat(64)} of resource "single", which does not exist`,
      ],
    ] as const) {
      await expect(client.plan(specOf('refused', reference))).rejects.toMatchObject({
        cause: { cause: { message: expect.stringContaining(wrong) } },
      });
    }
    await client.resources.set('single', null);
    expect((await client.resources.catalogue())['single']).not.toHaveProperty('set');
  });

  it('that are gone from the server hold the operation with a remedy; put again, it continues', async () => {
    const { client } = stack;
    const bytes = scripts('again');
    const { digest } = await client.resources.put('lost', { format: 'archive', bytes });
    const workflowExecution = { workflowId: artifactPartWorkflowId(digest, 0) };
    await client.temporal.workflowService.deleteWorkflowExecution({
      namespace: stack.namespace,
      workflowExecution,
    });
    await until('the content to be gone', () =>
      client.resources.read(digest).then(
        () => false,
        () => true,
      ),
    );
    const { operation } = await client.apply(specOf('lost', { resource: 'lost' }));
    expect((await client.waitFor('lost', operation)).operation).toMatchObject({
      state: 'held',
      reason: expect.stringContaining(
        'version 1 of resource lost is not available: part 0 is missing. Put the same content again (heddle resource put lost PATH) and retry',
      ),
    });
    expect(await client.resources.put('lost', { format: 'archive', bytes })).toMatchObject({
      version: 1,
      digest,
    });
    await client.retry('lost');
    expect((await client.waitFor('lost', operation)).operation.state).toBe('done');
    expect(await linesOf('lost')).toEqual(['app-1 again']);
  });

  it('of many parts are complete or absent: half-sent ones are invisible, and sending again completes them', async () => {
    const { client } = stack;
    const bytes = randomBytes(3 * resourcePartBytes + 5);
    const sent = await sendContent(client.temporal, { format: 'file', bytes, label: 'half' });
    expect(sent.parts).toBe(4);
    // As if the sender had died before the last part, and before the catalogue was told.
    await client.temporal.workflowService.deleteWorkflowExecution({
      namespace: stack.namespace,
      workflowExecution: { workflowId: artifactPartWorkflowId(sent.digest, 3) },
    });
    await until('the last part to be gone', () =>
      client.resources.read(sent.digest).then(
        () => false,
        () => true,
      ),
    );
    expect(await client.resources.catalogue()).not.toHaveProperty('half');
    await client.resources.put('half', { format: 'file', bytes });
    expect(Buffer.compare(Buffer.from(await client.resources.read(sent.digest)), bytes)).toBe(0);
  });
});
