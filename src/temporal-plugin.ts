import { fileURLToPath } from 'node:url';
import {
  Connection,
  type ClientOptions,
  type ConnectionLike,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, ReplayWorkerOptions, WorkerOptions } from '@temporalio/worker';
import { askAgain } from './client/ask-again.js';
import { recipientsOf } from './client/check-keys.js';
import { renewStarts, sealMessages, sealSchedules, type Sealing } from './client/seal-messages.js';
import { forgetServerTime, serverTime } from './client/server-clock.js';
import { scheduledWorkflowIds } from './model/names.js';
import { EncryptionCodec, type EncryptionCodecOptions, type OnPlaintext } from './secrets/codec.js';
import { parseKeyRing, type KeyRing } from './secrets/keys.js';

export { EncryptionCodec, PayloadRefusedError, type OnPlaintext } from './secrets/codec.js';
export { KeyError, openKeyRing, parseKeyRing, type KeyRing } from './secrets/keys.js';

export interface HeddlePluginOptions {
  /** An open key ring, or the text that `heddle keys export` prints. */
  readonly keys: KeyRing | string;
  /** For clients and workers that name none, and for replays, which know of none. Default: `default`. */
  readonly namespace?: string;
  /** Handles plaintext. Default: plaintext is refused. */
  readonly onPlaintext?: OnPlaintext;
  /**
   * Workflow ids in your own schedules. The input is encrypted for this id, and Temporal appends a time to
   * the ids of started workflows. Workers, and clients that read results, need these ids.
   */
  readonly scheduledWorkflowIds?: readonly string[];
}

/**
 * Brings Heddle's encryption to a Temporal client, worker, replay or bundle:
 * `new Client({ connection, namespace, plugins: [heddle({ keys })] })`.
 * @throws KeyError when the keys are malformed.
 */
export function heddle(options: HeddlePluginOptions): HeddlePlugin {
  return new HeddlePlugin(options);
}

/**
 * The same for code that sets a data converter by hand.
 * A custom converter keeps its payload converter and codecs; ours is the last before the wire.
 * @throws Error when it has a failure converter: two cannot be combined, and without ours messages would be
 * readable.
 */
export function dataConverterFor(codec: EncryptionCodecOptions, own: DataConverter = {}): DataConverter {
  const codecs = own.payloadCodecs ?? [];
  // The same plugin on a connection and on its client configures twice.
  if (codecs.some((candidate) => candidate instanceof EncryptionCodec)) return own;
  return {
    ...own,
    failureConverterPath: chooseFailureConverter(own),
    payloadCodecs: [...codecs, new EncryptionCodec(codec)],
  };
}

/**
 * Temporal loads this file itself by require(), which reads no TypeScript, so the path is that of the built
 * file.
 */
export const failureConverterPath = fileURLToPath(
  new URL('../dist/secrets/failure-converter.js', import.meta.url),
);

/** Built interceptors for every bundle with Heddle's workflows; the bundler reads no TypeScript. */
const interceptorsPath = fileURLToPath(new URL('../dist/workflows/interceptors.js', import.meta.url));

export class HeddlePlugin extends SimplePlugin {
  readonly #keyRing: KeyRing;
  readonly #namespace: string;
  readonly #onPlaintext: OnPlaintext;
  readonly #scheduledWorkflowIds: readonly string[];
  readonly #interceptors = new WeakMap<object, OwnInterceptors>();

  constructor(options: HeddlePluginOptions) {
    const { keys, namespace, onPlaintext, scheduledWorkflowIds: own = [] } = options;
    super({ name: 'heddle' });
    this.#keyRing =
      typeof keys === 'string' ? parseKeyRing(keys, 'the keys given to the Heddle plugin') : keys;
    this.#namespace = namespace ?? 'default';
    this.#onPlaintext = onPlaintext ?? 'refuse';
    this.#scheduledWorkflowIds = [...scheduledWorkflowIds, ...own];
  }

  override configureClient(options: ClientOptions): ClientOptions {
    const { workflow = [], schedule = [] } = options.interceptors ?? {};
    return {
      ...super.configureClient(options),
      interceptors: {
        ...options.interceptors,
        workflow: withOurs(workflow, this.#ownInterceptors(options)),
        schedule: [...new Set([...schedule, sealSchedules])],
      },
      dataConverter: dataConverterFor(this.#codec(options.namespace, 'throw'), options.dataConverter),
    };
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    return {
      ...super.configureWorker(options),
      dataConverter: dataConverterFor(this.#codec(options.namespace, 'mark'), options.dataConverter),
    };
  }

  override configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    const codec = { ...this.#codec(undefined, 'mark'), pinNamespace: true };
    return {
      ...super.configureReplayWorker(options),
      dataConverter: dataConverterFor(codec, options.dataConverter),
    };
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    return {
      ...super.configureBundler(options),
      workflowInterceptorModules: [
        ...new Set([...(options.workflowInterceptorModules ?? []), interceptorsPath]),
      ],
      failureConverterPath: chooseFailureConverter(options),
    };
  }

  /** The same plugin on a connection and on its client adds them once. */
  #ownInterceptors({ connection, namespace = this.#namespace }: ClientOptions): OwnInterceptors {
    const known = this.#interceptors.get(connection ?? this);
    if (known !== undefined) return known;
    const sealing = connection === undefined ? withoutServer : this.#sealingOn(connection, namespace);
    const own = [sealMessages(sealing), askAgain, renewStarts(sealing)] as const;
    this.#interceptors.set(connection ?? this, own);
    return own;
  }

  /** Clients of workers are on the connection of a worker and have its keys. */
  #sealingOn(connection: ConnectionLike, namespace: string): Sealing {
    const keys = connection instanceof Connection ? this.#keyRing : undefined;
    return {
      recipients: recipientsOf({ connection, namespace }, keys),
      now: () => serverTime(connection, namespace),
      forgetClock: () => forgetServerTime(connection),
    };
  }

  #codec(namespace: string | undefined, onRefused: 'throw' | 'mark'): EncryptionCodecOptions {
    return {
      keyRing: this.#keyRing,
      namespace: namespace ?? this.#namespace,
      onPlaintext: this.#onPlaintext,
      onRefused,
      scheduledWorkflowIds: this.#scheduledWorkflowIds,
    };
  }
}

type WorkflowClientInterceptors = NonNullable<NonNullable<ClientOptions['interceptors']>['workflow']>;

/** What seals, what repeats a request as it was sealed, and what renews the start in a repeated one. */
type OwnInterceptors = readonly [WorkflowClientInterceptor, typeof askAgain, WorkflowClientInterceptor];

/** Ours come last, nearest to the wire. */
function withOurs(given: WorkflowClientInterceptors, own: OwnInterceptors): WorkflowClientInterceptors {
  if (Array.isArray(given)) return [...new Set([...given, ...own])];
  // The deprecated form creates them per workflow.
  const { calls = [] } = given;
  const [sealing, , renewing] = own;
  return calls.includes(makeAskAgain)
    ? given
    : { ...given, calls: [...calls, () => sealing, makeAskAgain, () => renewing] };
}

const makeAskAgain = (): typeof askAgain => askAgain;

/** For options without a connection, which cannot be asked. */
const withoutServer: Sealing = {
  recipients: { find: () => Promise.resolve('unreadable'), forget: () => undefined },
  now: () => Promise.resolve(Date.now()),
};

function chooseFailureConverter({
  failureConverterPath: own,
}: {
  readonly failureConverterPath?: string;
}): string {
  if (own === undefined || own === failureConverterPath) return failureConverterPath;
  throw new Error(
    `The Heddle plugin has a failure converter that encrypts messages and stack traces, and ${own} would replace it. Omit failureConverterPath.`,
  );
}
