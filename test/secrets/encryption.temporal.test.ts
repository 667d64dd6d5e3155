import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Context } from '@temporalio/activity';
import { Client, Connection, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { EncryptionCodec } from '../../src/secrets/codec.js';
import { startCodecServer, type CodecServer } from '../../src/secrets/codec-server.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import {
  createKeys,
  exportKeys,
  importKeys,
  openKeyRing,
  parseKeyRing,
  rotateKeys,
} from '../../src/secrets/keys.js';
import { formatPayloads, parsePayloads } from '../../src/secrets/payload-json.js';
import { heddle, type HeddlePluginOptions } from '../../src/temporal-plugin.js';
import { addUpdate, careful, everyWay, finishSignal, stateQuery } from './fixture-workflows.js';
import { newFolder } from '../harness/folder.js';

const address = inject('temporalAddress');
const binary = inject('temporalBinary');
const namespace = `encryption-${randomUUID()}`;
const taskQueue = 'encryption';
const key = generateKey();
const keys = formatKeys({ current: key.id, keys: [key] });

/** Lets the activity end once the test has seen its heartbeat on the server. */
let release = (): void => undefined;
const released = new Promise<void>((resolve) => {
  release = resolve;
});
const activities = {
  work: async (input: string): Promise<string> => {
    Context.current().heartbeat('canary-heartbeat');
    await released;
    return `canary-activity-result ${input}`;
  },
  fail: (input: string): Promise<void> =>
    Promise.reject(
      ApplicationFailure.create({
        message: `canary-activity-failure ${input}`,
        type: 'Visible',
        details: ['canary-activity-detail'],
        cause: new Error('canary-cause'),
      }),
    ),
};

let connection: Connection;
let workerConnection: NativeConnection;
let bundle: WorkflowBundleWithSourceMap;
let codecServer: CodecServer;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  connection = await Connection.connect({ address });
  workerConnection = await NativeConnection.connect({ address });
  await temporal('operator', 'namespace', 'create', '--retention', '24h');
  const workflowsPath = fileURLToPath(new URL('fixture-workflows.ts', import.meta.url));
  bundle = await bundleWorkflowCode({
    workflowsPath,
    plugins: [heddle({ keys })],
    logger: new DefaultLogger('ERROR'),
  });
  codecServer = await startCodecServer({
    keyRing: parseKeyRing(keys, 'the test'),
    port: 0,
    origins: [],
    token: 'test-token',
    namespaces: [namespace],
  });
});
afterAll(async () => {
  await codecServer.stop();
  await connection.close();
  await workerConnection.close();
});

describe('a worker and a client with the Heddle plugin', () => {
  let handle: WorkflowHandle<typeof everyWay>;
  let stored: string;
  beforeAll(async () => {
    [handle, stored] = await runEveryWay();
  });

  it('leave nothing readable on the server', () => {
    expect(stored).toContain('Visible');
    expect(stored).toContain('WORKFLOW_EXECUTION_UPDATE_COMPLETED');
    expect(stored.match(/canary[\w-]*/g)).toBeNull();
    expect(stored).toContain('see encodedAttributes');
    expect(stored).not.toContain('fixture-workflows');
    expect(decodedBase64(stored).match(/canary[\w-]*/g)).toBeNull();
  });

  it('the codec server decodes their payloads', async () => {
    const payloads = payloadsIn(JSON.parse(stored));
    const response = await fetch(`${codecServer.url}/decode`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Namespace': namespace },
      body: JSON.stringify({ payloads }),
    });
    const shown = decodedBase64(await response.text());
    const words = [
      'input',
      'memo',
      'memo-later',
      'memo-child',
      'summary',
      'details',
      'activity-summary',
      'activity-input',
      'activity-result',
      'heartbeat',
      'activity-failure',
      'activity-detail',
      'cause',
      'child-input',
      'child-failure',
      'child-detail',
      'signal',
      'update',
      'update-result',
      'result',
    ];
    expect(words.filter((word) => !shown.includes(`canary-${word}`))).toEqual([]);
    expect(shown).toContain('fixture-workflows');
  });

  it('replay a history of any namespace, given its name', async () => {
    const history = await handle.fetchHistory();
    const replay = (options: HeddlePluginOptions): Promise<void> =>
      Worker.runReplayHistory(
        { workflowBundle: bundle, plugins: [heddle(options)] },
        history,
        handle.workflowId,
      );
    await replay({ keys, namespace });
    await withWorker(async () =>
      clientWith({ keys }).workflow.execute(careful, { taskQueue, workflowId: 'replayed', args: [1] }),
    );
    const other = await clientWith({ keys }).workflow.getHandle('replayed').fetchHistory();
    const plugins = [heddle({ keys })];
    await expect(
      Worker.runReplayHistory({ workflowBundle: bundle, plugins }, other, 'replayed'),
    ).rejects.toThrow();
  });
});

describe('a workflow that is started in plaintext', () => {
  it('fails with a message that names the remedy', async () => {
    await expect(
      withWorker(async () => {
        await temporal(
          'workflow',
          'start',
          '--type',
          'careful',
          '-t',
          taskQueue,
          '-w',
          'plain',
          '-i',
          '{"a":1}',
          '--memo',
          'm="x"',
        );
        return clientWith({ keys }).workflow.getHandle<typeof careful>('plain').result();
      }),
    ).rejects.toSatisfy(
      (error) => error instanceof WorkflowFailedError && /codec-endpoint/.test(error.cause?.message ?? ''),
    );
  });

  it('runs when the CLI goes through the codec server', async () => {
    const result = await withWorker(async () => {
      await temporal(
        'workflow',
        'start',
        '--type',
        'careful',
        '-t',
        taskQueue,
        '-w',
        'coded',
        '-i',
        '{"a":1}',
        '--codec-endpoint',
        codecServer.url,
      );
      return clientWith({ keys }).workflow.getHandle<typeof careful>('coded').result();
    });
    expect(result).toBe('took {"a":1}');
  });

  it('is refused by a client that reads its result', async () => {
    const plain = await Worker.create({
      connection: workerConnection,
      namespace,
      taskQueue: 'plain',
      workflowBundle: bundle,
    });
    await plain.runUntil(async () => {
      const client = new Client({ connection, namespace });
      await client.workflow.execute(careful, { taskQueue: 'plain', workflowId: 'unencrypted', args: [1] });
      await expect(clientWith({ keys }).workflow.getHandle('unencrypted').result()).rejects.toThrow(
        /not encrypted/,
      );
    });
  });
});

describe('a worker whose keys are rotated elsewhere', () => {
  it('waits for a missing key, names it, and continues when it is imported', async () => {
    const base = newFolder();
    const [ours, theirs] = [join(base, 'ours'), join(base, 'theirs')];
    try {
      createKeys(ours);
      await importKeys(theirs, exportKeys(ours), 'ours');
      const rotated = await rotateKeys(ours);
      await withWorker(
        async () => {
          const handle = await clientWith({
            keys: openKeyRing({ folder: ours, create: false }),
          }).workflow.start(careful, { taskQueue, workflowId: 'rotated', args: [2] });
          const failure = await vi.waitFor(
            async () => {
              const history: { events: readonly { workflowTaskFailedEventAttributes?: object }[] } =
                JSON.parse(await temporal('workflow', 'show', '-w', 'rotated'));
              const found = history.events.find(
                (event) => event.workflowTaskFailedEventAttributes !== undefined,
              );
              expect(found).toBeDefined();
              return found;
            },
            { timeout: 240_000, interval: 200 },
          );
          const codec = new EncryptionCodec({
            keyRing: openKeyRing({ folder: theirs, create: false }),
            namespace,
          });
          const shown = decodedBase64(
            JSON.stringify(
              formatPayloads(await codec.decode(parsePayloads({ payloads: payloadsIn(failure) }))),
            ),
          );
          expect(shown).toMatch(new RegExp(`Payload key ${rotated} is not in .*heddle keys import`));
          await importKeys(theirs, exportKeys(ours), 'ours');
          expect(await handle.result()).toBe('took 2');
        },
        { keys: openKeyRing({ folder: theirs, create: false }) },
      );
    } finally {
      await rm(base, { recursive: true });
    }
  });
});

/** Gives the run, and all that the server shows of it to one who has no key. */
async function runEveryWay(): Promise<[WorkflowHandle<typeof everyWay>, string]> {
  const workflowId = `encrypted-${randomUUID()}`;
  return withWorker(async () => {
    const handle = await clientWith({ keys }).workflow.start(everyWay, {
      taskQueue,
      workflowId,
      args: ['canary-input'],
      memo: { first: 'canary-memo' },
      staticSummary: 'canary-summary'.padEnd(248, '.'),
      staticDetails: 'canary-details',
    });
    const running = await vi.waitFor(
      async () => {
        const described = await temporal('workflow', 'describe', '-w', workflowId);
        expect(described).toContain('heartbeatDetails');
        return described;
      },
      { timeout: 240_000, interval: 200 },
    );
    release();
    expect(await handle.executeUpdate(addUpdate, { args: ['canary-update'] })).toBe(
      'canary-update-result canary-update',
    );
    expect(await handle.query(stateQuery)).toContain('canary-query');
    await handle.signal(finishSignal, 'canary-signal');
    const result = await handle.result();
    for (const word of [
      'canary-activity-result canary-activity-input canary-input',
      'canary-signal',
      'canary-activity-failure',
      'canary-child-failure',
    ]) {
      expect(result).toContain(word);
    }
    const histories = await Promise.all(
      [workflowId, `${workflowId}-child`].map((id) => temporal('workflow', 'show', '-w', id)),
    );
    const ended = await temporal('workflow', 'describe', '-w', workflowId);
    return [handle, `[${[...histories, running, ended].join()}]`] as const;
  });
}

async function withWorker<T>(work: () => Promise<T>, options: HeddlePluginOptions = { keys }): Promise<T> {
  const worker = await Worker.create({
    connection: workerConnection,
    namespace,
    taskQueue,
    workflowBundle: bundle,
    activities,
    plugins: [heddle(options)],
  });
  return worker.runUntil(work);
}

function clientWith(options: HeddlePluginOptions): Client {
  return new Client({ connection, namespace, plugins: [heddle(options)] });
}

async function temporal(...words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    binary,
    [...words, '--address', address, '--namespace', namespace, '-o', 'json'],
    { maxBuffer: 1e8 },
  );
  return stdout;
}

/** Every object of the tree that looks like a payload. */
function payloadsIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('metadata' in value && 'data' in value) return [value];
  return Object.values(value).flatMap(payloadsIn);
}

/** Everything in the text that reads as base64, decoded. */
function decodedBase64(text: string): string {
  return (text.match(/[A-Za-z0-9+/]{8,}={0,2}/g) ?? [])
    .map((part) => Buffer.from(part, 'base64').toString('latin1'))
    .join('\n');
}
