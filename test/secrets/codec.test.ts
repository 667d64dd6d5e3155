import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';
import { describe, expect, it } from 'vitest';
import { PayloadRefusedError } from '../../src/secrets/codec.js';
import { KeyError } from '../../src/secrets/keys.js';
import { fc } from '../harness/property.js';
import { codecFor, inNamespace, json, newRing, payloads, refusalOf, worker, workflow } from './codecs.js';

describe('EncryptionCodec', () => {
  it('restores every payload unchanged, metadata included, and shows none of it in transit', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(payloads, { maxLength: 4 }), async (originals) => {
        const codec = codecFor();
        const sealed = await codec.encode(originals);
        expect((await codec.decode(sealed)).map(plain)).toEqual(originals.map(plain));
        for (const payload of sealed)
          expect(Object.keys(payload.metadata ?? {})).toEqual(['encoding', 'encryption-key-id', 'heddle/2']);
      }),
    );
  });

  it('shows neither content nor encoding', async () => {
    const [sealed] = await codecFor().encode([json('canary-5e1f')]);
    expect(Buffer.from(sealed?.data ?? []).includes('canary')).toBe(false);
    expect(Buffer.from(sealed?.data ?? []).includes('json/plain')).toBe(false);
  });

  it('never produces the same bytes twice', async () => {
    const [first, second] = await codecFor().encode([json('same'), json('same')]);
    expect(first?.data).not.toEqual(second?.data);
  });

  it('refuses data with any bit changed', async () => {
    const codec = codecFor();
    await fc.assert(
      fc.asyncProperty(payloads, fc.nat(), fc.nat(7), async (original, at, bit) => {
        const [sealed] = await codec.encode([original]);
        const data = Buffer.from(sealed?.data ?? []);
        data[at % data.length] = (data[at % data.length] ?? 0) ^ (1 << bit);
        await expect(codec.decode([{ metadata: sealed?.metadata ?? {}, data }])).rejects.toThrow(
          PayloadRefusedError,
        );
      }),
    );
  });

  it('refuses truncated, empty and extended data', async () => {
    const codec = codecFor();
    const [sealed] = await codec.encode([json('x')]);
    const data = Buffer.from(sealed?.data ?? []);
    for (const changed of [
      Buffer.alloc(0),
      data.subarray(0, 27),
      data.subarray(0, -1),
      Buffer.concat([data, Buffer.alloc(1)]),
    ]) {
      await expect(codec.decode([{ ...sealed, data: changed }])).rejects.toThrow(PayloadRefusedError);
    }
    await expect(codec.decode([{ metadata: sealed?.metadata ?? {} }])).rejects.toThrow(PayloadRefusedError);
  });

  it('refuses data with a forged key id', async () => {
    const two = newRing(2);
    const [, other] = two.list();
    const [sealed] = await codecFor({ keyRing: two }).encode([json('x')]);
    const moved = {
      ...sealed,
      metadata: { ...sealed?.metadata, 'encryption-key-id': Buffer.from(other?.id ?? '') },
    };
    await expect(codecFor({ keyRing: two }).decode([moved])).rejects.toThrow(PayloadRefusedError);
  });

  it('refuses a payload of another namespace, and names that one', async () => {
    const sealed = await codecFor({ namespace: 'blue' }).encode([json('x')], inNamespace('blue'));
    await expect(codecFor({ namespace: 'green' }).decode(sealed)).rejects.toThrow(/namespace 'green'/);
    expect(await codecFor({ namespace: 'green' }).decode(sealed, inNamespace('blue'))).toHaveLength(1);
    await expect(codecFor({ namespace: 'blue' }).decode(sealed, inNamespace('green'))).rejects.toThrow(
      PayloadRefusedError,
    );
  });

  it('pins its namespace for replays', async () => {
    const sealed = await codecFor({ namespace: 'blue' }).encode([json('x')], inNamespace('blue'));
    expect(
      await codecFor({ namespace: 'blue', pinNamespace: true }).decode(sealed, inNamespace('default')),
    ).toHaveLength(1);
  });

  it('fails on an unknown key, and names it', async () => {
    const sealed = await codecFor({ keyRing: newRing() }).encode([json('x')]);
    await expect(codecFor().decode(sealed)).rejects.toThrow(KeyError);
    await expect(codecFor().decode(sealed)).rejects.toThrow(/k[0-9a-f]{8} is not in .*heddle keys import/);
  });

  it('leaves encrypted payloads unchanged', async () => {
    const codec = codecFor();
    const once = await codec.encode([json('x')]);
    expect(await codec.encode(once)).toEqual(once);
  });

  it.each([
    ['JSON', json('x')],
    ['null', { metadata: { encoding: Buffer.from('binary/null') } }],
    ['nothing', {}],
    [
      "another's encryption",
      { metadata: { encoding: Buffer.from('binary/encrypted') }, data: Buffer.from('?') },
    ],
  ])('takes %s for plaintext: refused, marked or passed', async (_, payload: Payload) => {
    await expect(codecFor().decode([payload], workflow('w'))).rejects.toThrow(/codec-endpoint/);
    expect(await refusalOf(payload, workflow('w'))).toMatch(/codec-endpoint/);
    expect(await codecFor({ onPlaintext: 'pass' }).decode([payload])).toEqual([payload]);
    expect(await worker({ onPlaintext: 'pass' }).decode([payload], workflow('w'))).toEqual([payload]);
  });

  it("leaves 248 characters of a summary's 400 bytes, whatever the length of the workflow id", async () => {
    const sizeOf = (payload: Payload): number =>
      proto.temporal.api.common.v1.Payload.encode(payload).finish().length;
    const summary = json('x'.repeat(248));
    const [sealed] = await codecFor().encode([summary], workflow('w'.repeat(1_000)));
    expect(sizeOf(sealed ?? {})).toBe(400);
    expect(sizeOf(sealed ?? {}) - sizeOf(summary)).toBe(123);
  });
});

/** Protobuf keeps no difference between an empty field and none, nor between kinds of byte arrays. */
function plain({ metadata, data }: Payload): unknown {
  const shown = Object.entries(metadata ?? {}).map(([key, value]) => [
    key,
    Buffer.from(value).toString('hex'),
  ]);
  return { metadata: Object.fromEntries(shown), data: Buffer.from(data ?? []).toString('hex') };
}
