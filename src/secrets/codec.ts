import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import proto from '@temporalio/proto';
import { isEnvelope } from '../model/messages/envelope.js';
import { keyIdField, keyLabel, unopenedLabel } from '../model/messages/payload-label.js';
import type { Refusal } from '../model/messages/refusal.js';
import { decrypt, encrypt } from './cipher.js';
import { isKeyId, type Key } from './key-document.js';
import { KeyError, type KeyRing } from './keys.js';

/**
 * How decoding treats an unencrypted payload.
 * - refuse: like a payload that was tampered with.
 * - pass: returns it unchanged. For showing payloads to users, and for migrating from plaintext to
 *   encryption.
 */
export type OnPlaintext = 'refuse' | 'pass';

export interface EncryptionCodecOptions {
  readonly keyRing: KeyRing;
  /** The namespace of payloads for which Temporal reports none. */
  readonly namespace: string;
  /** Default: `refuse`. */
  readonly onPlaintext?: OnPlaintext;
  /**
   * How a payload is refused.
   * - throw: the default. For clients.
   * - mark: for workers, where an error would make Temporal retry the workflow task forever. Decoding returns
   *   a `Refusal` instead of the payload, also if its key is not in the ring, and labels each payload with
   *   its key. Payloads for which Temporal reports no workflow or activity are refused too.
   */
  readonly onRefused?: 'throw' | 'mark';
  /** Payloads belong to `namespace`, even if Temporal reports another: a replay always reports `default`. */
  readonly pinNamespace?: boolean;
  /**
   * Workflow IDs of the actions of schedules. A schedule encodes its input for this ID, Temporal appends the
   * time to the ID of each workflow that it starts, and each workflow reads the result of the previous one
   * (`lastResult`). Payloads of these workflows therefore belong to the schedule; those of their activities
   * belong to the single workflow.
   */
  readonly scheduledWorkflowIds?: readonly string[];
}

/**
 * A payload that must not be used: plaintext, tampered with, or written for another workflow or namespace.
 */
export class PayloadRefusedError extends Error {
  override readonly name = 'PayloadRefusedError';
}

const plaintextRefused =
  'A payload is not encrypted, but Heddle accepts only encrypted payloads here. ' +
  "Send it with Heddle's client or its Temporal plugin, or through the codec server: " +
  "'temporal … --codec-endpoint URL', or in the Web UI the setting for the codec server.";

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;
const encoding = Buffer.from('binary/encrypted');
/** Format and binding share one field, because the server limits summaries to 400 bytes. */
const bindingField = 'heddle/2';
const digestBytes = 16;
/** The binding of payloads that were encoded without a context, such as those of the codec server. */
const unbound = new Uint8Array();

/**
 * Encrypts whole payloads, metadata included, with AES-256-GCM. The format, the key id, the namespace and the
 * workflow (or activity of a workflow) that owns the payload are authenticated: a payload that was altered,
 * or copied to another owner, is refused. Key ids, sizes and a digest of the owner's id remain visible.
 */
export class EncryptionCodec implements PayloadCodec {
  // Private, so that no dump of a worker's options shows the keys.
  readonly #options: EncryptionCodecOptions;

  constructor(options: EncryptionCodecOptions) {
    this.#options = options;
  }

  encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return settle(() => {
      const binding = context === undefined ? unbound : bindingOf(this.#scheduleOf(context) ?? context);
      return payloads.map((payload) =>
        isEncrypted(payload)
          ? payload
          : sealPayload(payload, {
              key: this.#options.keyRing.current(),
              namespace: this.#namespace(context),
              binding,
            }),
      );
    });
  }

  /**
   * @throws KeyError for a key that is not in the ring, and PayloadRefusedError for a payload that must not
   * be used, unless refused payloads are marked.
   */
  decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return settle(() => payloads.map((payload) => this.#open(payload, context)));
  }

  #namespace(context: SerializationContext | undefined): string {
    if (context === undefined || this.#options.pinNamespace === true) return this.#options.namespace;
    return context.namespace;
  }

  #open(payload: Payload, context: SerializationContext | undefined): Payload {
    try {
      if (isEncrypted(payload)) return this.#labelled(this.#decrypt(payload, context), payload);
      if (this.#options.onPlaintext === 'pass') return this.#labelled(payload);
      throw new PayloadRefusedError(plaintextRefused);
    } catch (error) {
      if (this.#options.onRefused !== 'mark') throw error;
      if (error instanceof PayloadRefusedError) return markOf({ heddleRefused: error.message });
      if (!(error instanceof KeyError)) throw error;
      const id = keyIdOf(payload);
      const why = this.#unknownKey(id);
      const unopened = markOf({ heddleRefused: why, unknownKey: id });
      return this.#labelled(unopened, payload, { [unopenedLabel]: Buffer.from(why) });
    }
  }

  /**
   * Addresses both the sender, who may use the wrong key, and the operator, who may have to distribute the
   * right one.
   */
  #unknownKey(id: string): string {
    const { source } = this.#options.keyRing;
    const current = this.#options.keyRing.current().id;
    return (
      `Payload key ${id} is not in ${source} of the worker on ${hostname()}. ` +
      `Encrypt with the key of the workers, ${current} ('heddle keys import', then 'heddle keys rotate --to ${current}'), ` +
      `or copy ${id} to every worker ('heddle keys export', 'heddle keys import').`
    );
  }

  /** Labels a payload with its key for a worker's workflows. A sender cannot set these labels. */
  #labelled(opened: Payload, sealed?: Payload, labels: NonNullable<Payload['metadata']> = {}): Payload {
    if (this.#options.onRefused !== 'mark' || (sealed === undefined && !opened.metadata)) return opened;
    const { [keyLabel]: _key, [unopenedLabel]: _unopened, ...metadata } = opened.metadata ?? {};
    const key = sealed && { [keyLabel]: Buffer.from(keyIdOf(sealed)) };
    return { metadata: { ...metadata, ...key, ...labels }, data: opened.data };
  }

  #decrypt(payload: Payload, context: SerializationContext | undefined): Payload {
    const keyId = keyIdOf(payload);
    if (!isKeyId(keyId))
      throw new PayloadRefusedError('A payload was refused: the id of its key is malformed.');
    const key = this.#options.keyRing.find(keyId);
    const opened = openPayload(payload, key, this.#namespace(context));
    this.#checkOwner(payload, opened, context);
    return opened;
  }

  #checkOwner(payload: Payload, opened: Payload, context: SerializationContext | undefined): void {
    if (context === undefined) {
      if (this.#options.onRefused !== 'mark') return;
      throw new PayloadRefusedError(
        'A payload was refused: Temporal did not report which workflow it belongs to.',
      );
    }
    const binding = bindingIn(payload);
    if (binding.length === 0) {
      // Only messages come from the codec server, each with an expiry time. Clients receive none.
      const isReceiver = this.#options.onRefused === 'mark' && context.type === 'workflow';
      if (isReceiver && isTemporaryEnvelope(opened)) return;
      throw new PayloadRefusedError(
        'A payload was refused: it is not bound to a workflow, so it is valid only as a ' +
          'message that the codec server encrypted for a workflow.',
      );
    }
    const owners = [context, this.#scheduleOf(context)].filter((owner) => owner !== undefined);
    if (owners.some((owner) => bindingOf(owner).equals(binding))) return;
    const owner =
      context.type === 'workflow'
        ? `workflow '${context.workflowId}'`
        : `activity '${context.activityId ?? ''}' of workflow '${context.workflowId ?? ''}'`;
    const hint = scheduleTime.test(context.workflowId ?? '')
      ? ' If a schedule starts this workflow, add the workflow ID of the schedule ' +
        'to scheduledWorkflowIds of the Heddle plugin.'
      : '';
    throw new PayloadRefusedError(`A payload was refused: it was not written for ${owner}.${hint}`);
  }

  /** The context in which a schedule encodes; undefined for workflows of other origin. */
  #scheduleOf(context: SerializationContext): SerializationContext | undefined {
    const time = context.type === 'workflow' ? scheduleTime.exec(context.workflowId) : null;
    if (context.type !== 'workflow' || time === null) return undefined;
    const workflowId = context.workflowId.slice(0, time.index);
    return this.#options.scheduledWorkflowIds?.includes(workflowId) === true
      ? { ...context, workflowId }
      : undefined;
  }
}

/** The suffix that Temporal appends to the workflow ID of a schedule. */
const scheduleTime = /-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export interface Sealing {
  readonly key: Key;
  readonly namespace: string;
  /** A digest of the owner's id; empty for none. */
  readonly binding: Uint8Array;
}

export function sealPayload(payload: Payload, { key, namespace, binding }: Sealing): Payload {
  const plain = PayloadMessage.encode(payload).finish();
  return {
    metadata: { encoding, [keyIdField]: Buffer.from(key.id), [bindingField]: binding },
    data: encrypt(key, plain, authenticated(key.id, namespace, binding)),
  };
}

/** The binding that an encrypted payload declares; authenticated when the payload is decrypted. */
export function bindingIn({ metadata }: Payload): Uint8Array {
  return metadata?.[bindingField] ?? unbound;
}

function openPayload(payload: Payload, key: Key, namespace: string): Payload {
  try {
    const context = authenticated(key.id, namespace, bindingIn(payload));
    return PayloadMessage.decode(decrypt(key, payload.data ?? new Uint8Array(), context));
  } catch (cause) {
    throw new PayloadRefusedError(
      `A payload with key ${key.id} does not decrypt for namespace '${namespace}': ` +
        'it was altered, or encrypted for another namespace. Use the namespace and the codec server that it ' +
        'was encrypted with.',
      { cause },
    );
  }
}

/** A digest, so that a decoder that does not know the owner can still authenticate the payload. */
function bindingOf(context: SerializationContext): Buffer {
  const { workflowId = null } = context;
  const owner = context.type === 'workflow' ? [workflowId] : [workflowId, context.activityId ?? null];
  return createHash('sha256').update(JSON.stringify(owner)).digest().subarray(0, digestBytes);
}

function authenticated(keyId: string, namespace: string, binding: Uint8Array): Uint8Array {
  return Buffer.from(JSON.stringify([bindingField, keyId, namespace, Buffer.from(binding).toString('hex')]));
}

export function isEncrypted({ metadata }: Payload): boolean {
  return textOf(metadata?.encoding) === encoding.toString() && Object.hasOwn(metadata ?? {}, bindingField);
}

/** The id of the key that an encrypted payload names; empty for any other payload. */
function keyIdOf({ metadata }: Payload): string {
  return textOf(metadata?.[keyIdField]);
}

function markOf(refusal: Refusal): Payload {
  return { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(refusal)) };
}

function isTemporaryEnvelope({ metadata, data }: Payload): boolean {
  if (textOf(metadata?.encoding) !== 'json/plain') return false;
  try {
    const value: unknown = JSON.parse(textOf(data));
    return isEnvelope(value) && typeof value.until === 'number';
  } catch {
    return false;
  }
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return bytes == null ? '' : Buffer.from(bytes).toString('utf8');
}

/** Converts an exception to a rejection, as Temporal expects of a codec. */
function settle<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(work());
  });
}
