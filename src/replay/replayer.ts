import { encryptedMessage } from '../secrets/failure-converter.js';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import { Worker, type ReplayWorkerOptions } from '@temporalio/worker';
import { failureConverterPath, heddle, type KeyRing, type OnPlaintext } from '../temporal-plugin.js';
import type { History } from './read-history.js';

/** Replays one history after the other with the same workflows. */
export interface Replayer {
  /** The message of what went wrong; undefined where the history replays. */
  replay(workflowId: string, history: History): Promise<ReplayFailure | undefined>;
  close(): Promise<void>;
}

export interface ReplayFailure {
  /**
   * `nondeterminism`: commands differ from the history. `failure`: the code throws. `invalid`: no server
   * wrote this history.
   */
  readonly kind: 'nondeterminism' | 'failure' | 'invalid';
  readonly message: string;
}

export interface ReplayerOptions {
  /** A built workflow bundle. */
  readonly bundlePath: string;
  /** What histories are encrypted with; left out for histories in plaintext. */
  readonly encryption?: {
    readonly keys: KeyRing;
    readonly namespace: string;
    readonly onPlaintext?: OnPlaintext;
  };
}

export function createReplayer({ bundlePath, encryption }: ReplayerOptions): Replayer {
  const witness = createWitness();
  const dataConverter: DataConverter = {
    payloadCodecs: [witness.codec],
    ...(encryption === undefined ? { failureConverterPath } : {}),
  };
  const options: ReplayWorkerOptions = {
    workflowBundle: { codePath: bundlePath },
    dataConverter,
    plugins: encryption === undefined ? [] : [heddle(encryption)],
  };
  let next: { readonly workflowId: string; readonly history: History } | undefined;
  // The SDK asks for a history only when it is asked for a result.
  async function* feed(): AsyncGenerator<{ workflowId: string; history: History }> {
    for (; next !== undefined; await Promise.resolve()) {
      const one = next;
      next = undefined;
      yield one;
    }
  }
  const results = Worker.runReplayHistories(
    options,
    feed() as Parameters<typeof Worker.runReplayHistories>[1],
  );
  return {
    async replay(workflowId, history) {
      next = { workflowId, history };
      witness.forget();
      const { done, value } = await results.next();
      if (done === true) throw new Error('the replay worker ended before it had a result');
      if (value.error === undefined) return undefined;
      const message = messageOf(value.error.message, witness.seen());
      return { kind: kindOf(value.error, message), message };
    },
    async close() {
      next = undefined;
      await results.return?.();
    },
  };
}

function kindOf({ name }: Error, message: string): ReplayFailure['kind'] {
  if (name === 'DeterminismViolationError' || message.includes('[TMPRL1100]')) return 'nondeterminism';
  return message.includes('This history is invalid') ? 'invalid' : 'failure';
}

/** The message of the SDK's core is embedded in a dump. */
function messageOf(text: string, witnessed: string | undefined): string {
  const quoted = /Failure \{ message: "((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  const message = quoted?.replaceAll(/\\(.)/g, (_all, escaped: string) => (escaped === 'n' ? '\n' : escaped));
  if (message === undefined) return text;
  return message.endsWith(encryptedMessage)
    ? (witnessed ?? "the workflow's code threw an error; its message is encrypted")
    : message;
}

/** Records the last failure message before it is encrypted: this codec precedes the encryption. */
function createWitness(): { readonly codec: PayloadCodec; forget(): void; seen(): string | undefined } {
  let last: string | undefined;
  const note = ({ data }: Payload): void => {
    const value = parse(data);
    if (
      typeof value === 'object' &&
      value !== null &&
      'message' in value &&
      'stack_trace' in value &&
      typeof value.message === 'string'
    )
      last = value.message;
  };
  return {
    codec: {
      encode: (payloads) => {
        payloads.forEach(note);
        return Promise.resolve(payloads);
      },
      decode: (payloads) => Promise.resolve(payloads),
    },
    forget: () => (last = undefined),
    seen: () => last,
  };
}

function parse(data: Uint8Array | null | undefined): unknown {
  try {
    return JSON.parse(Buffer.from(data ?? []).toString('utf8'));
  } catch {
    return undefined; // Not JSON: no failure.
  }
}
