import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { Client, Connection, QueryNotRegisteredError, type WorkflowHandle } from '@temporalio/client';
import type { Payload, SerializationContext } from '@temporalio/common';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { findStart } from '../../../src/activities/find-start.js';
import { activityTable } from '../../../src/model/activities.js';
import { argumentsOf, contracts } from '../../../src/model/messages/table.js';
import type { Contract } from '../../../src/model/contract.js';
import { coreQueue, workflowQueue } from '../../../src/model/names.js';
import { openKeyRing } from '../../../src/secrets/keys.js';
import { dataConverterFor, heddle } from '../../../src/temporal-plugin.js';
import { openInputs } from '../../../src/worker/open-inputs.js';
import { readWorkflowRuns } from '../../../src/worker/workflow-runs.js';
import { makeNamespace } from '../namespace.js';
import { until } from '../until.js';
import { repeatingClient } from './repeating-client.js';
import { samples } from './sample-messages.js';

export type WorkflowType = keyof typeof contracts;

export interface MessageWorld {
  readonly clients: {
    /** With the plugin, as every proper client. */
    readonly proper: Client;
    /** Encrypts nothing, as a client without keys; it can read, so that the test sees why it is refused. */
    readonly plain: Client;
    /** With the keys, without the interceptors that seal: it sends exactly the arguments it is given. */
    readonly unsealed: Client;
    /** Without keys, too: it sends payloads again that it has read from histories. */
    readonly repeating: Client;
  };
  /** The workflow ids of signals that the worker logged as ignored. */
  readonly ignored: readonly string[];
  handle(client: keyof MessageWorld['clients'], type: WorkflowType): WorkflowHandle;
  start(type: WorkflowType): Promise<void>;
  /** The answers to all queries without arguments. */
  stateOf(type: WorkflowType): Promise<unknown>;
  stop(): Promise<void>;
}

/**
 * A namespace with a worker that runs Heddle's workflows; of their activities, only the look at
 * their starts ever ends, so that each stays as it is.
 */
export async function openMessageWorld(address: string, bundlePath: string): Promise<MessageWorld> {
  const ignored = logIgnoredSignals();
  const folder = await mkdtemp(join(tmpdir(), 'heddle-messages-'));
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  const namespace = await makeNamespace(connection, 'messages');
  const keyRing = openKeyRing({ folder: join(folder, 'keys'), create: true });
  const plugins = [heddle({ keys: keyRing, namespace })];
  const dataConverter = dataConverterFor({ keyRing, namespace, onPlaintext: 'refuse' });
  const [codec] = dataConverter.payloadCodecs ?? [];
  const readOnly = {
    encode: (payloads: Payload[]) => Promise.resolve(payloads),
    decode: async (payloads: Payload[], context?: SerializationContext) =>
      codec?.decode(payloads, context) ?? [],
  };
  const clients = {
    repeating: repeatingClient(connection, namespace, dataConverter),
    proper: new Client({ connection, namespace, plugins }),
    plain: new Client({
      connection,
      namespace,
      dataConverter: { ...dataConverter, payloadCodecs: [readOnly] },
    }),
    unsealed: new Client({ connection, namespace, dataConverter }),
  };
  const worker = await Worker.create({
    connection: native,
    namespace,
    plugins,
    taskQueue: workflowQueue,
    workflowBundle: { codePath: bundlePath },
  });
  const starts = await Worker.create({
    connection: native,
    namespace,
    plugins,
    taskQueue: coreQueue,
    interceptors: { activity: [openInputs] },
    activities: {
      ...Object.fromEntries(Object.keys(activityTable).map((name) => [name, waitForShutdown])),
      FIND_START: (request: { readonly start: string }) =>
        findStart({ runs: readWorkflowRuns(clients.proper) }, request),
    },
  });
  const running = Promise.all([worker.run(), starts.run()]);
  const handle: MessageWorld['handle'] = (client, type) =>
    clients[client].workflow.getHandle(samples[type].workflowId);
  const stateOf: MessageWorld['stateOf'] = async (type) => {
    const messages: Contract = contracts[type];
    const names = Object.keys(messages.queries).filter(
      (name) => argumentsOf(messages, 'queries', name)?.length === 0,
    );
    return Promise.all(
      names.map(async (name) => [name, withoutTime(await handle('proper', type).query(name))]),
    );
  };
  return {
    clients,
    ignored,
    handle,
    async start(type) {
      const { workflowId, start } = samples[type];
      await clients.proper.workflow.start(type, { workflowId, taskQueue: workflowQueue, args: [...start] });
      await handle('proper', type).query('__stack_trace');
      // The SDK answers that query itself, also while the workflow has no handlers.
      await until(`workflow ${type} answers`, () =>
        stateOf(type).then(
          () => true,
          (error: unknown) => !(error instanceof QueryNotRegisteredError),
        ),
      );
    },
    stateOf,
    async stop() {
      worker.shutdown();
      starts.shutdown();
      await running;
      await native.close();
      await connection.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const waitForShutdown = (): Promise<never> => Context.current().cancelled;

export interface HistoryCounts {
  readonly failedTasks: number;
  readonly acceptedUpdates: number;
  readonly signals: number;
}

export async function countHistory(handle: WorkflowHandle): Promise<HistoryCounts> {
  const events = (await handle.fetchHistory()).events ?? [];
  const count = (key: keyof (typeof events)[number]): number => events.filter((event) => event[key]).length;
  return {
    failedTasks: count('workflowTaskFailedEventAttributes'),
    acceptedUpdates: count('workflowExecutionUpdateAcceptedEventAttributes'),
    signals: count('workflowExecutionSignaledEventAttributes'),
  };
}

function logIgnoredSignals(): readonly string[] {
  const ignored: string[] = [];
  const drop = (): void => undefined;
  const warn = (message: string, meta?: object): void => {
    if (message === 'a signal was ignored') ignored.push(String(Reflect.get(meta ?? {}, 'workflowId')));
  };
  Runtime.install({ logger: { trace: drop, debug: drop, info: drop, error: drop, log: drop, warn } });
  return ignored;
}

/** A pool shows how long things have lasted. */
function withoutTime(value: unknown): unknown {
  const text = JSON.stringify(value ?? null, (key, entry: unknown) => (/Ms$|^at$/.test(key) ? 0 : entry));
  return JSON.parse(text);
}
