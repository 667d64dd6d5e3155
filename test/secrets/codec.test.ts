import type { Payload, SerializationContext } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { isRefusal } from '../../src/model/refusal.js';
import { EncryptionCodec, PayloadRefusedError, type EncryptionCodecOptions } from '../../src/secrets/codec.js';
import { generateKey, formatKeys } from '../../src/secrets/key-document.js';
import { KeyError, parseKeyRing, type KeyRing } from '../../src/secrets/keys.js';
import { fc } from '../support/property.js';

const ring = newRing();
const bytes = fc.uint8Array({ maxLength: 200 });
const payloads: fc.Arbitrary<Payload> = fc.record({ metadata: fc.dictionary(fc.string({ maxLength: 20 }), bytes), data: bytes });

describe('EncryptionCodec', () => {
  it('gives back every payload as it was, metadata included, and shows none of it on the way', async () => {
    await fc.assert(fc.asyncProperty(fc.array(payloads, { maxLength: 4 }), async (originals) => {
      const codec = codecFor();
      const sealed = await codec.encode(originals);
      expect((await codec.decode(sealed)).map(plain)).toEqual(originals.map(plain));
      for (const payload of sealed) expect(Object.keys(payload.metadata ?? {})).toEqual(['encoding', 'encryption-format', 'encryption-key-id']);
    }));
  });

  it('shows neither content nor encoding', async () => {
    const [sealed] = await codecFor().encode([json('canary-5e1f')]);
    expect(Buffer.from(sealed?.data ?? []).includes('canary')).toBe(false);
    expect(Buffer.from(sealed?.data ?? []).includes('json/plain')).toBe(false);
  });

  it('never encrypts to the same bytes twice', async () => {
    const [first, second] = await codecFor().encode([json('same'), json('same')]);
    expect(first?.data).not.toEqual(second?.data);
  });

  it('refuses data with any bit changed', async () => {
    const codec = codecFor();
    await fc.assert(fc.asyncProperty(payloads, fc.nat(), fc.nat(7), async (original, at, bit) => {
      const [sealed] = await codec.encode([original]);
      const data = Buffer.from(sealed?.data ?? []);
      data[at % data.length] = (data[at % data.length] ?? 0) ^ (1 << bit);
      await expect(codec.decode([{ metadata: sealed?.metadata ?? {}, data }])).rejects.toThrow(PayloadRefusedError);
    }));
  });

  it('refuses cut, empty and lengthened data', async () => {
    const codec = codecFor();
    const [sealed] = await codec.encode([json('x')]);
    const data = Buffer.from(sealed?.data ?? []);
    for (const changed of [Buffer.alloc(0), data.subarray(0, 27), data.subarray(0, -1), Buffer.concat([data, Buffer.alloc(1)])]) {
      await expect(codec.decode([{ ...sealed, data: changed }])).rejects.toThrow(PayloadRefusedError);
    }
    await expect(codec.decode([{ metadata: sealed?.metadata ?? {} }])).rejects.toThrow(PayloadRefusedError);
  });

  it('refuses what another known key is said to have written', async () => {
    const two = newRing(2);
    const [, other] = two.list();
    const [sealed] = await codecFor({ keyRing: two }).encode([json('x')]);
    const moved = { ...sealed, metadata: { ...sealed?.metadata, 'encryption-key-id': Buffer.from(other?.id ?? '') } };
    await expect(codecFor({ keyRing: two }).decode([moved])).rejects.toThrow(PayloadRefusedError);
  });

  it('refuses a payload of another namespace, and names the one it was taken for', async () => {
    const sealed = await codecFor({ namespace: 'blue' }).encode([json('x')]);
    await expect(codecFor({ namespace: 'green' }).decode(sealed)).rejects.toThrow(/namespace 'green'/);
    expect(await codecFor({ namespace: 'green' }).decode(sealed, inNamespace('blue'))).toHaveLength(1);
    await expect(codecFor({ namespace: 'blue' }).decode(sealed, inNamespace('green'))).rejects.toThrow(PayloadRefusedError);
  });

  it('pins its namespace for replays', async () => {
    const sealed = await codecFor({ namespace: 'blue' }).encode([json('x')], inNamespace('blue'));
    expect(await codecFor({ namespace: 'blue', pinNamespace: true }).decode(sealed, inNamespace('default'))).toHaveLength(1);
  });

  it('fails closed on an unknown key, naming it', async () => {
    const sealed = await codecFor({ keyRing: newRing() }).encode([json('x')]);
    await expect(codecFor().decode(sealed)).rejects.toThrow(KeyError);
    await expect(codecFor().decode(sealed)).rejects.toThrow(/k[0-9a-f]{8} is not in .*heddle keys import/);
  });

  it('passes on what is encrypted already', async () => {
    const codec = codecFor();
    const once = await codec.encode([json('x')]);
    expect(await codec.encode(once)).toEqual(once);
  });

  it.each([
    ['JSON', json('x')],
    ['null', { metadata: { encoding: Buffer.from('binary/null') } }],
    ['nothing', {}],
    ['another\'s encryption', { metadata: { encoding: Buffer.from('binary/encrypted') }, data: Buffer.from('?') }],
  ])('takes %s for plaintext: refused, marked or passed', async (_, payload: Payload) => {
    await expect(codecFor({ onPlaintext: 'refuse' }).decode([payload])).rejects.toThrow(/codec-endpoint/);
    const [marked] = await codecFor({ onPlaintext: 'mark' }).decode([payload]);
    const value: unknown = JSON.parse(Buffer.from(marked?.data ?? []).toString());
    expect(isRefusal(value)).toBe(true);
    expect(await codecFor({ onPlaintext: 'pass' }).decode([payload])).toEqual([payload]);
  });

  it('keeps a summary of 240 characters within Temporal\'s 400 bytes', async () => {
    const [sealed] = await codecFor().encode([json('x'.repeat(240))]);
    const metadata = Object.entries(sealed?.metadata ?? {}).reduce((sum, [key, value]) => sum + key.length + value.length + 6, 0);
    expect(metadata + (sealed?.data?.length ?? 0) + 3).toBeLessThan(400);
  });
});

function codecFor(options: Partial<EncryptionCodecOptions> = {}): EncryptionCodec {
  return new EncryptionCodec({ keyRing: ring, namespace: 'default', onPlaintext: 'refuse', ...options });
}

function newRing(size = 1): KeyRing {
  const keys = Array.from({ length: size }, generateKey);
  return parseKeyRing(formatKeys({ current: keys[0]?.id ?? '', keys }), 'the test');
}

function json(value: unknown): Payload {
  return { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) };
}

function inNamespace(namespace: string): SerializationContext {
  return { type: 'workflow', namespace, workflowId: 'w' };
}

/** Protobuf keeps no difference between an empty field and none, nor between kinds of byte arrays. */
function plain({ metadata, data }: Payload): unknown {
  const shown = Object.entries(metadata ?? {}).map(([key, value]) => [key, Buffer.from(value).toString('hex')]);
  return { metadata: Object.fromEntries(shown), data: Buffer.from(data ?? []).toString('hex') };
}
