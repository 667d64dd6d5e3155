import { join } from 'node:path';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { coreQueue, workflowQueue, planWorkflowType } from '../../src/model/names.js';
import { emptyCluster } from '../../src/model/plan/facts/current.js';
import { createKeys, type KeyRing } from '../../src/secrets/keys.js';
import { heddle } from '../../src/temporal-plugin.js';
import { Attacker } from '../secrets/attacker.js';
import { makeNamespace } from '../harness/namespace.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

// A worker that carries out workflows only, so that the attacker gets all activities of the queue.
describe("the result of an activity of Heddle's workflows that an attacker without keys completes", () => {
  let folder: string;
  let connection: Connection;
  let native: NativeConnection;
  let namespace: string;
  let client: Client;
  let attacker: Attacker;
  let worker: Worker;
  let ended: Promise<void>;
  beforeAll(async () => {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    folder = newFolder();
    const keys: KeyRing = createKeys(join(folder, 'keys'));
    const address = inject('temporalAddress');
    connection = await Connection.connect({ address });
    native = await NativeConnection.connect({ address });
    namespace = await makeNamespace(connection, 'refused');
    client = new Client({ connection, namespace, plugins: [heddle({ keys })] });
    attacker = new Attacker(connection, namespace);
    worker = await Worker.create({
      connection: native,
      namespace,
      taskQueue: workflowQueue,
      plugins: [heddle({ keys })],
      workflowBundle: { codePath: inject('workflowBundlePath') },
    });
    ended = worker.run();
  });
  afterAll(async () => {
    worker.shutdown();
    await ended;
    await native.close();
    await connection.close();
  });

  /** The message with which a plan fails whose activity is completed with this payload. */
  async function failureOf(workflowId: string, result: Payload): Promise<string> {
    const input = { clusterName: 'web', intent: { kind: 'delete' }, current: emptyCluster };
    const handle = await client.workflow.start(planWorkflowType, {
      workflowId,
      taskQueue: workflowQueue,
      args: [input],
    });
    await attacker.completeActivity(result, coreQueue);
    const error: unknown = await handle.result().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const { events } = await handle.fetchHistory();
    expect(events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
    const cause = error instanceof WorkflowFailedError ? error.cause?.cause : undefined;
    return cause instanceof Error ? cause.message : `no failure: ${String(error)}`;
  }

  // Promise: results-refused
  it('fails the activity if it is plaintext, altered, or moved from another workflow', async () => {
    const plain = {
      metadata: { encoding: Buffer.from('json/plain') },
      data: Buffer.from('{"operation":"delete"}'),
    };
    expect(await failureOf('plan/plain', plain)).toMatch(
      /^The result was refused\. A payload is not encrypted/,
    );
    const moved = await until('the input of the first activity is recorded', async () => {
      const { events } = await client.workflow.getHandle('plan/plain').fetchHistory();
      return events?.flatMap((event) => event.activityTaskScheduledEventAttributes?.input?.payloads ?? [])[0];
    });
    expect(await failureOf('plan/moved', moved)).toMatch(
      /^The result was refused\. A payload was refused: it was not written for/,
    );
    const altered = { ...moved, data: Buffer.from(moved.data ?? []).fill(0, 20, 24) };
    expect(await failureOf('plan/altered', altered)).toMatch(
      /^The result was refused\. A payload with key .* does not decrypt/,
    );
    const cut = { ...moved, data: Buffer.alloc(3) };
    expect(await failureOf('plan/cut', cut)).toMatch(
      /^The result was refused\. A payload with key .* does not decrypt/,
    );
  });
});
