import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { sendContent } from '../../src/client/artifact/content.js';
import { artifactPartWorkflowId } from '../../src/model/names.js';
import { until } from '../harness/until.js';
import type { Stack } from '../harness/stack.js';
import { cannotSkipTime, type SkippedTime, startWithSkippedTime } from '../harness/skipped-time.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

describe.skipIf(cannotSkipTime)('long periods, with time skipped', () => {
  let time: SkippedTime['time'];
  let stack: Stack;
  let skip: SkippedTime['skip'];
  let stop: SkippedTime['stop'] | undefined;
  beforeAll(async () => {
    const folder = newFolder();
    await writeSlowProvider(folder);
    ({ time, stack, skip, stop } = await startWithSkippedTime({
      accounts: { slow: { type: 'slow' } },
      config: { plugins: [folder] },
    }));
  });
  afterAll(() => stop?.());

  it('a part of a resource that is not claimed ends after an hour; a claimed one stays', async () => {
    const { client } = stack;
    const { digest } = await client.resources.put('kept', { format: 'file', bytes: Buffer.from('kept') });
    const half = await sendContent(client.temporal, {
      format: 'file',
      bytes: Buffer.from('half'),
      label: 'half',
    });
    const unclaimed = client.temporal.workflow.getHandle(artifactPartWorkflowId(half.digest, 0));
    await skip('61 minutes');
    await until('the part to end', async () => (await unclaimed.describe()).status.name === 'COMPLETED');
    expect(
      (await client.temporal.workflow.getHandle(artifactPartWorkflowId(digest, 0)).describe()).status.name,
    ).toBe('RUNNING');
  });

  it('a cluster whose first request was refused ends after half a minute', async () => {
    const { workflow } = stack.client.temporal;
    const startWorkflowOperation = new WithStartWorkflowOperation('cluster', {
      workflowId: 'cluster/unwanted',
      taskQueue: 'heddle',
      args: [{ heddle: { uid: 'u' } }],
      workflowIdConflictPolicy: 'FAIL',
    });
    const request = workflow.executeUpdateWithStart('apply', {
      args: [{ by: 'me' }],
      startWorkflowOperation,
    });
    await expect(request).rejects.toMatchObject({
      cause: { message: expect.stringContaining('spec: is missing') },
    });
    const handle = workflow.getHandle('cluster/unwanted');
    await skip('29 seconds');
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await skip('2 seconds');
    expect(await handle.result()).toBe('this cluster received no request');
  });

  it('CONFIRM tries for ten minutes, then the machine is replaced; after the third the operation is held with the last reason', async () => {
    const { client } = stack;
    const began = await time.currentTimeMs();
    const { operation } = await client.apply(
      closed({ name: 'slow', nodes: { app: nodes(1, [], { provider: 'slow' }) } }),
    );
    let status = await client.status('slow');
    while (status.operation?.state !== 'held') {
      await skip('20 seconds');
      status = await client.status('slow');
    }
    expect(status.operation).toMatchObject({ id: operation, tasks: { failed: 3 } });
    expect(status.operation.reason).toMatch(/^CONFIRM of app-1 failed: .*the machine boots$/);
    expect(status.nodes).toMatchObject([{ incarnation: 3, state: 'failed' }]);
    const minutes = ((await time.currentTimeMs()) - began) / 60_000;
    expect(minutes).toBeGreaterThan(26);
    const { operation: deletion = '' } = await client.delete('slow');
    expect((await client.waitFor('slow', deletion, { everyMs: 100 })).operation.state).toBe('done');
  });
});

/** A provider whose machines never come, and that is asked about them once a minute. */
async function writeSlowProvider(folder: string): Promise<void> {
  const plugin = join(folder, 'providers', 'slow');
  await mkdir(plugin, { recursive: true });
  await writeFile(
    join(plugin, 'slow.json'),
    JSON.stringify({
      name: 'slow',
      type: 'provider',
      entry: './slow.mjs',
      class: 'Slow',
      version: '1.0.0',
      description: 'Never ready',
      idempotency: 'token',
    }),
  );
  await writeFile(
    join(plugin, 'slow.mjs'),
    `
    import { PluginError } from ${JSON.stringify(join(inject('distPath'), 'plugins', 'errors.js'))};
    export class Slow {
      async create({ key }) { return { result: { providerid: key } }; }
      async confirm() { throw new PluginError('NotReady', 'the machine boots', { retryAfterMs: 60_000 }); }
      async delete() {}
    }
  `,
  );
}
