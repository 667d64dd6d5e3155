import type { Payload, SerializationContext } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { encrypt } from '../../src/secrets/cipher.js';
import { PayloadRefusedError } from '../../src/secrets/codec.js';
import { keyIdField, keyLabel, unopenedLabel } from '../../src/model/messages/payload-label.js';
import { fc } from '../harness/property.js';
import { activity, codecFor, json, newRing, payloads, refusalOf, ring, worker, workflow } from './codecs.js';

// Promise: payload-bound
describe('a payload of a workflow', () => {
  it('opens for its workflow, whatever decodes it', async () => {
    const [sealed] = await codecFor().encode([json('x')], workflow('cluster/a'));
    expect(await refusalOf(sealed, workflow('cluster/a'))).toBeUndefined();
    expect(await codecFor().decode(sealed === undefined ? [] : [sealed], workflow('cluster/a'))).toHaveLength(
      1,
    );
    expect(await codecFor().decode(sealed === undefined ? [] : [sealed])).toHaveLength(1);
  });

  it('is refused by another workflow, by activities and where Temporal names no workflow', async () => {
    const [sealed] = await codecFor().encode([json('x')], workflow('cluster/a'));
    const others = [
      workflow('cluster/b'),
      workflow('cluster/a/group/1'),
      workflow(''),
      activity('cluster/a', '1'),
    ];
    for (const other of others) {
      expect(await refusalOf(sealed, other)).toMatch(/was not written for/);
      await expect(codecFor().decode(sealed === undefined ? [] : [sealed], other)).rejects.toThrow(
        PayloadRefusedError,
      );
    }
    expect(await refusalOf(sealed)).toMatch(/did not report which workflow/);
  });

  it('is refused in every namespace other than its own', async () => {
    const [sealed] = await codecFor().encode([json('x')], workflow('cluster/a'));
    const elsewhere = { ...workflow('cluster/a'), namespace: 'other' };
    const payloads = sealed === undefined ? [] : [sealed];
    expect(await refusalOf(sealed, elsewhere)).toMatch(/does not decrypt for namespace 'other'/);
    await expect(codecFor().decode(payloads, elsewhere)).rejects.toThrow(PayloadRefusedError);
    // Nor by a codec that is told no workflow, such as the codec server of another namespace.
    await expect(codecFor({ namespace: 'other' }).decode(payloads)).rejects.toThrow(PayloadRefusedError);
  });

  it('is refused if its binding is replaced or removed', async () => {
    const [sealed] = await codecFor().encode([json('x')], workflow('cluster/a'));
    const [other] = await codecFor().encode([json('x')], workflow('cluster/b'));
    const bindings = [
      other?.metadata?.['heddle/2'] ?? new Uint8Array(),
      new Uint8Array(),
      new Uint8Array(15),
    ];
    for (const binding of bindings) {
      const moved = { ...sealed, metadata: { ...sealed?.metadata, 'heddle/2': binding } };
      expect(await refusalOf(moved, workflow('cluster/b'))).toMatch(/does not decrypt/);
      await expect(codecFor().decode([moved])).rejects.toThrow(PayloadRefusedError);
    }
    const { 'heddle/2': _removed, ...rest } = sealed?.metadata ?? {};
    expect(await refusalOf({ ...sealed, metadata: rest }, workflow('cluster/a'))).toMatch(/not encrypted/);
  });
});

// Promise: payload-bound
describe('a payload of an activity', () => {
  it('is refused by another activity and by its workflow', async () => {
    const [sealed] = await codecFor().encode([json('x')], activity('cluster/a', 'CREATE app-1'));
    expect(
      await refusalOf(sealed, {
        ...activity('cluster/a', 'CREATE app-1'),
        isLocal: true,
      } as SerializationContext),
    ).toBeUndefined();
    const others = [
      activity('cluster/a', 'DELETE app-1'),
      activity('cluster/b', 'CREATE app-1'),
      workflow('cluster/a'),
      { type: 'activity', namespace: 'default', workflowId: 'cluster/a', isLocal: false } as const,
    ];
    for (const other of others) expect(await refusalOf(sealed, other)).toMatch(/was not written for/);
  });
});

describe('a payload that a schedule encrypts', () => {
  const scheduledWorkflowIds = ['sweep'];
  const started = 'sweep-2026-11-22T08:30:00Z';

  it('opens for the workflows that the schedule starts', async () => {
    const [sealed] = await codecFor().encode([json('x')], workflow('sweep'));
    expect(await refusalOf(sealed, workflow(started), { scheduledWorkflowIds })).toBeUndefined();
    expect(await refusalOf(sealed, workflow('sweep'), { scheduledWorkflowIds })).toBeUndefined();
    const [own] = await codecFor().encode([json('x')], workflow(started));
    expect(await refusalOf(own, workflow(started), { scheduledWorkflowIds })).toBeUndefined();
  });

  it('opens for the next workflow of the schedule, which reads the result of the one before', async () => {
    const [result] = await codecFor({ scheduledWorkflowIds }).encode([json('x')], workflow(started));
    const next = 'sweep-2026-11-22T09:30:00Z';
    for (const reader of [started, next]) {
      expect(await refusalOf(result, workflow(reader), { scheduledWorkflowIds })).toBeUndefined();
    }
    expect(await refusalOf(result, activity(next, '1'), { scheduledWorkflowIds })).toMatch(
      /was not written for/,
    );
    const [ofActivity] = await codecFor({ scheduledWorkflowIds }).encode([json('x')], activity(started, '1'));
    expect(await refusalOf(ofActivity, activity(next, '1'), { scheduledWorkflowIds })).toMatch(
      /was not written for/,
    );
  });

  it.each([
    'cluster/a-2026-11-22T08:30:00Z',
    'sweep-2026-11-22',
    'sweep-2026-11-22T08:30:00Z-2026-11-22T08:30:00Z',
    'sweep-2026-11-22T08:30:00Zx',
    'sweep/2026-11-22T08:30:00Z',
    'x-sweep-2026-11-22T08:30:00Z',
  ])('is refused by the workflow %s', async (workflowId) => {
    for (const owner of ['sweep', 'cluster/a']) {
      const [sealed] = await codecFor().encode([json('x')], workflow(owner));
      expect(await refusalOf(sealed, workflow(workflowId), { scheduledWorkflowIds })).toMatch(
        /was not written for/,
      );
    }
  });

  it('is refused by the activities of the workflows that the schedule starts', async () => {
    const [sealed] = await codecFor().encode([json('x')], workflow('sweep'));
    expect(await refusalOf(sealed, activity(started, '1'), { scheduledWorkflowIds })).toMatch(
      /was not written for/,
    );
  });
});

describe('a payload that is bound to no workflow', () => {
  it('is accepted by workflows as an envelope of limited validity, and in no other form', async () => {
    const envelope = { heddle: '*', args: ['x'], until: 5 };
    expect(await refusalOf((await codecFor().encode([json(envelope)]))[0], workflow('any'))).toBeUndefined();
    const wrong = [
      json('x'),
      json(null),
      json([envelope]),
      json({ heddle: '*', args: ['x'] }),
      json({ ...envelope, until: '5' }),
      json({ ...envelope, args: 'x' }),
      { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{') },
      { ...json(envelope), metadata: { encoding: Buffer.from('binary/plain') } },
      {},
    ];
    for (const payload of wrong) {
      const [sealed] = await codecFor().encode([payload]);
      expect(await refusalOf(sealed, workflow('any'))).toMatch(/not bound to a workflow/);
    }
  });

  it('is refused by activities and by clients, even as an envelope', async () => {
    const sealed = await codecFor().encode([json({ heddle: '*', args: ['x'], until: 5 })]);
    expect(await refusalOf(sealed[0], activity('cluster/a', '1'))).toMatch(/not bound to a workflow/);
    await expect(codecFor().decode(sealed, workflow('any'))).rejects.toThrow(/not bound to a workflow/);
  });
});

describe('the codec of a worker', () => {
  it('marks every payload that was altered, and never throws', async () => {
    await fc.assert(
      fc.asyncProperty(payloads, fc.nat(), fc.nat(7), async (original, at, bit) => {
        const [sealed] = await codecFor().encode([original], workflow('w'));
        const data = Buffer.from(sealed?.data ?? []);
        data[at % data.length] = (data[at % data.length] ?? 0) ^ (1 << bit);
        expect(await refusalOf({ ...sealed, data }, workflow('w'))).toMatch(/does not decrypt/);
      }),
    );
  });

  it('marks malformed metadata, truncated data and content that is not a payload', async () => {
    const [sealed] = await codecFor().encode([json('x')], workflow('w'));
    const withKeyId = (id: Uint8Array): Payload => ({
      ...sealed,
      metadata: { ...sealed?.metadata, 'encryption-key-id': id },
    });
    expect(await refusalOf(withKeyId(Buffer.from('../k')), workflow('w'))).toMatch(
      /id of its key is malformed/,
    );
    expect(await refusalOf(withKeyId(new Uint8Array()), workflow('w'))).toMatch(/id of its key is malformed/);
    expect(await refusalOf(withKeyId(Buffer.alloc(1_000, 'k')), workflow('w'))).toMatch(
      /id of its key is malformed/,
    );
    expect(
      await refusalOf({ ...sealed, data: (sealed?.data ?? []).slice(0, 20) as Uint8Array }, workflow('w')),
    ).toMatch(/does not decrypt/);
    const key = ring.current();
    const binding = sealed?.metadata?.['heddle/2'] ?? new Uint8Array();
    const context = Buffer.from(
      JSON.stringify(['heddle/2', key.id, 'default', Buffer.from(binding).toString('hex')]),
    );
    const noPayload = encrypt(key, Buffer.from([0xff, 0xff, 0xff]), context);
    expect(await refusalOf({ ...sealed, data: noPayload }, workflow('w'))).toMatch(/does not decrypt/);
  });

  it('marks a payload whose key is missing, and names the key', async () => {
    const other = newRing();
    const sealed = await codecFor({ keyRing: other }).encode([json('x')], workflow('w'));
    const [marked] = await worker().decode(sealed, workflow('w'));
    const { id } = other.current();
    expect(JSON.parse(Buffer.from(marked?.data ?? []).toString())).toEqual({
      heddleRefused: expect.stringContaining(`Payload key ${id} is not in`) as string,
      unknownKey: id,
    });
    expect(Buffer.from(marked?.metadata?.[unopenedLabel] ?? []).toString()).toContain('heddle keys import');
  });

  it('labels a payload with its key, whatever the sender says', async () => {
    const forged = { ...json('x'), metadata: { ...json('x').metadata, [keyLabel]: Buffer.from('forged') } };
    const [sealed] = await worker().encode([forged], workflow('w'));
    const [opened] = await worker().decode(sealed === undefined ? [] : [sealed], workflow('w'));
    expect(Buffer.from(opened?.metadata?.[keyLabel] ?? []).toString()).toBe(
      Buffer.from(sealed?.metadata?.[keyIdField] ?? []).toString(),
    );
  });
});
