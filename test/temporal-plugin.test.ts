import { inspect } from 'node:util';
import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { formatKeys, generateKey } from '../src/secrets/key-document.js';
import {
  dataConverterFor,
  EncryptionCodec,
  failureConverterPath,
  heddle,
  KeyError,
  parseKeyRing,
  type HeddlePluginOptions,
} from '../src/temporal-plugin.js';

const key = generateKey();
const keys = formatKeys({ current: key.id, keys: [key] });
const payload = { data: Buffer.from('x') };
const context = { type: 'workflow', namespace: 'default', workflowId: 'w' } as const;

describe('the Heddle plugin', () => {
  it('brings codec and failure converter to clients, workers, replays and bundles', () => {
    const plugin = heddle({ keys });
    for (const options of [
      plugin.configureClient({}),
      plugin.configureWorker({ taskQueue: 'q' }),
      plugin.configureReplayWorker({}),
    ]) {
      expect(options.dataConverter?.payloadCodecs?.[0]).toBeInstanceOf(EncryptionCodec);
      expect(options.dataConverter?.failureConverterPath).toBe(failureConverterPath);
    }
    expect(plugin.configureBundler({ workflowsPath: 'w' })).toMatchObject({
      workflowsPath: 'w',
      failureConverterPath,
    });
  });

  it('accepts keys as text or as an open ring, and reports their errors at once', () => {
    expect(() => heddle({ keys: parseKeyRing(keys, 'the test') })).not.toThrow();
    expect(() => heddle({ keys: '{}' })).toThrow(KeyError);
  });

  it('encrypts for the namespace of its client or worker', async () => {
    const plugin = heddle({ keys, namespace: 'fallback' });
    const blue = codecOf(plugin.configureClient({ namespace: 'blue' }));
    const sealed = await blue.encode([payload]);
    expect(await codecOf(plugin.configureClient({ namespace: 'blue' })).decode(sealed)).toHaveLength(1);
    await expect(codecOf(plugin.configureClient({})).decode(sealed)).rejects.toThrow(/'fallback'/);
    expect(await textOf(plugin.configureReplayWorker({}), sealed)).toMatch(/'fallback'/);
  });

  it("makes workers accept the input of Heddle's schedules and of named ones", async () => {
    for (const id of ['sweep', 'periodic-checks', 'nightly']) {
      const sealed = await codecOf(heddle({ keys }).configureClient({})).encode([payload], {
        ...context,
        workflowId: id,
      });
      const started = { ...context, workflowId: `${id}-2026-11-22T08:30:00Z` };
      const read = (options: HeddlePluginOptions): Promise<string> =>
        textOf(heddle(options).configureWorker({ taskQueue: 'q' }), sealed, started);
      expect(await read({ keys, scheduledWorkflowIds: ['nightly'] })).toBe('x');
      if (id === 'nightly') expect(await read({ keys })).toMatch(/heddleRefused.*scheduledWorkflowIds/);
    }
  });

  it('makes clients refuse plaintext and workers mark it, unless told otherwise', async () => {
    const plugin = heddle({ keys });
    await expect(codecOf(plugin.configureClient({})).decode([payload])).rejects.toThrow(/not encrypted/);
    const [marked] = await codecOf(plugin.configureWorker({ taskQueue: 'q' })).decode([payload], context);
    expect(Buffer.from(marked?.data ?? []).toString()).toContain('heddleRefused');
    expect(
      await codecOf(heddle({ keys, onPlaintext: 'pass' }).configureClient({})).decode([payload]),
    ).toEqual([payload]);
  });

  it('encrypts once if it is on the connection and on the client', () => {
    const plugin = heddle({ keys });
    const once = plugin.configureClient({});
    expect(plugin.configureClient(once).dataConverter).toEqual(once.dataConverter);
    expect(
      plugin.configureBundler(plugin.configureBundler({ workflowsPath: 'w' })).failureConverterPath,
    ).toBe(failureConverterPath);
  });

  it('keeps existing converters and codecs, and encrypts last', () => {
    const compress: PayloadCodec = {
      encode: (payloads) => Promise.resolve(payloads),
      decode: (payloads) => Promise.resolve(payloads),
    };
    const { dataConverter } = heddle({ keys }).configureClient({
      dataConverter: { payloadConverterPath: '/mine.js', payloadCodecs: [compress] },
    });
    expect(dataConverter).toMatchObject({
      payloadConverterPath: '/mine.js',
      payloadCodecs: [compress, expect.any(EncryptionCodec)],
    });
  });

  it('refuses a failure converter that would leave messages readable', () => {
    const own = { failureConverterPath: '/mine.js' };
    expect(() => heddle({ keys }).configureWorker({ taskQueue: 'q', dataConverter: own })).toThrow(
      /\/mine\.js/,
    );
    expect(() => heddle({ keys }).configureBundler({ workflowsPath: 'w', ...own })).toThrow(/\/mine\.js/);
    expect(() =>
      dataConverterFor({ keyRing: parseKeyRing(keys, 'the test'), namespace: 'default' }, own),
    ).toThrow(/\/mine\.js/);
  });

  it('shows no key when Temporal logs the options of a worker', () => {
    const options = heddle({ keys }).configureWorker({ taskQueue: 'q' });
    const shown = inspect(options, { depth: 20, showHidden: true }) + JSON.stringify(options);
    expect(shown).not.toContain(key.secret.export().toString('base64'));
    expect(shown).not.toContain(key.id);
  });
});

async function textOf(
  options: Parameters<typeof codecOf>[0],
  payloads: Payload[],
  owner: SerializationContext = context,
): Promise<string> {
  const [decoded] = await codecOf(options).decode(payloads, owner);
  return Buffer.from(decoded?.data ?? []).toString();
}

function codecOf(options: {
  readonly dataConverter?: { readonly payloadCodecs?: PayloadCodec[] };
}): PayloadCodec {
  const [codec] = options.dataConverter?.payloadCodecs ?? [];
  if (codec === undefined) throw new Error('the plugin brought no codec');
  return codec;
}
