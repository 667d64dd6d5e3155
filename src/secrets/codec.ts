import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { Refusal } from '../model/refusal.js';
import { decrypt, encrypt } from './cipher.js';
import type { KeyRing } from './keys.js';

/**
 * What decoding makes of a payload that is not encrypted.
 * - refuse: throws. For clients.
 * - mark: gives a `Refusal` in its place. For workers: the workflow can fail with its text, where a throw would make
 *   Temporal repeat the workflow task for ever.
 * - pass: gives it as it is. For showing things to people, and for a time of transition from plaintext.
 */
export type OnPlaintext = 'refuse' | 'mark' | 'pass';

export interface EncryptionCodecOptions {
  readonly keyRing: KeyRing;
  /** The namespace that payloads belong to where Temporal does not say it. */
  readonly namespace: string;
  readonly onPlaintext: OnPlaintext;
  /** Payloads belong to `namespace`, whatever Temporal says: a replay always says `default`. */
  readonly pinNamespace?: boolean;
}

/** A payload that must not be used: plaintext, tampered with, or of another namespace. */
export class PayloadRefusedError extends Error {
  override readonly name = 'PayloadRefusedError';
}

export const plaintextRefused = 'A payload is not encrypted, and Heddle takes only encrypted ones here. Send it with Heddle\'s client or its Temporal plugin, '
  + 'or through the codec server: \'temporal … --codec-endpoint URL\', and in the Web UI the codec server of its settings.';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;
const encoding = Buffer.from('binary/encrypted');
const format = Buffer.from('heddle/1');
const keyIdField = 'encryption-key-id';
const formatField = 'encryption-format';

/**
 * Encrypts whole payloads, metadata included, with AES-256-GCM. Bound to format, key id and namespace: a payload that
 * was changed, or copied from another namespace, does not decrypt. Key ids and sizes remain visible.
 */
export class EncryptionCodec implements PayloadCodec {
  // Private to the object, so that no dump of a worker's options shows it.
  readonly #options: EncryptionCodecOptions;

  constructor(options: EncryptionCodecOptions) {
    this.#options = options;
  }

  encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return settle(() => payloads.map((payload) => this.#seal(payload, this.#namespace(context))));
  }

  /**
   * @throws KeyError for a key that is not in the ring.
   * @throws PayloadRefusedError for what was tampered with or moved, and for plaintext unless it is marked or passed.
   */
  decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return settle(() => payloads.map((payload) => this.#open(payload, this.#namespace(context))));
  }

  #namespace(context: SerializationContext | undefined): string {
    if (context === undefined || this.#options.pinNamespace === true) return this.#options.namespace;
    return context.namespace;
  }

  #seal(payload: Payload, namespace: string): Payload {
    if (isEncrypted(payload)) return payload;
    const key = this.#options.keyRing.current();
    const plain = PayloadMessage.encode(payload).finish();
    return {
      metadata: { encoding, [formatField]: format, [keyIdField]: Buffer.from(key.id) },
      data: encrypt(key, plain, contextOf(key.id, namespace)),
    };
  }

  #open(payload: Payload, namespace: string): Payload {
    if (!isEncrypted(payload)) return this.#takePlaintext(payload);
    const id = textOf(payload.metadata?.[keyIdField]);
    const key = this.#options.keyRing.find(id);
    try {
      return PayloadMessage.decode(decrypt(key, payload.data ?? new Uint8Array(), contextOf(id, namespace)));
    } catch (cause) {
      throw new PayloadRefusedError(`A payload with key ${id} does not decrypt for namespace '${namespace}': it was changed, or belongs to another namespace. `
        + 'It is not used. Check that namespace and codec server are those the payload was written with.', { cause });
    }
  }

  #takePlaintext(payload: Payload): Payload {
    if (this.#options.onPlaintext === 'pass') return payload;
    if (this.#options.onPlaintext === 'refuse') throw new PayloadRefusedError(plaintextRefused);
    const refusal: Refusal = { heddleRefused: plaintextRefused };
    return { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(refusal)) };
  }
}

function isEncrypted({ metadata }: Payload): boolean {
  return textOf(metadata?.encoding) === encoding.toString() && textOf(metadata?.[formatField]) === format.toString();
}

function contextOf(keyId: string, namespace: string): Uint8Array {
  return Buffer.from(JSON.stringify([format.toString(), keyId, namespace]));
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return bytes == null ? '' : Buffer.from(bytes).toString('utf8');
}

/** Makes a throw a rejection, as Temporal expects of a codec. */
function settle<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(work());
  });
}
