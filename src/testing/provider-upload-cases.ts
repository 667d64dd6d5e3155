import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { machineKey, tagNames, uploadId, uploadToken } from '../model/names.js';
import type { ImageFileInput, LibraryInput, UploadedImage } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import { readImages, readOutcome, readUploaded } from '../schema/machine-answer.js';
import type { ProviderBench } from './provider-bench.js';
import type { CallFault } from './proxy.js';
import type { Case } from './runner.js';
import { until } from './until.js';

export type UploadCaseId = 'uploads' | 'upload' | 'upload-list' | 'upload-lost' | 'upload-cancel';

/** Most calls to its API that one upload may take. */
const mostCalls = 30;

/** Nobody forgets them: the cases below are run for every provider that takes uploads. */
export const uploadsAreTried: Case<UploadCaseId, ProviderBench> = {
  id: 'uploads',
  title: 'is tried with uploads, where it takes any',
  run: ({ plugin, options }) => {
    strictEqual(
      options.uploads === true,
      plugin.abilities.includes('uploadImage'),
      'it takes uploads, so the options of its suite need uploads: true; or it takes none, and they say so',
    );
    return Promise.resolve();
  },
};

/** What a provider does that takes images as files. */
export const uploadCases: readonly Case<UploadCaseId, ProviderBench>[] = [
  {
    id: 'upload',
    title: 'takes a file in as an image, once for a token, and deletes it, and what is absent too',
    lacks: lacksUploads,
    run: (bench) =>
      withImage(bench, async (image) => {
        const first = await upload(bench, image);
        strictEqual(await upload(bench, image), first, 'the same upload gives another image');
        await remove(bench, image, first);
        await remove(bench, image, first);
        await remove(bench, await newImage(bench));
      }),
  },
  {
    id: 'upload-list',
    title: "lists what was uploaded by our installation's tag, with its tags, and nothing by another",
    lacks: lacksListImages,
    run: (bench) =>
      withImage(bench, async (image) => {
        const providerImage = await upload(bench, image);
        const [found] = await until(
          'the image to be listed',
          async () => {
            const listed = await list(bench, { [tagNames.installation]: bench.installation });
            return listed.some(({ tags }) => tags[tagNames.key] === image.tags?.[tagNames.key]) && listed;
          },
          bench.patienceMs,
        );
        strictEqual(found?.providerImage, providerImage);
        for (const [name, value] of Object.entries(image.tags ?? {}))
          strictEqual(found.tags[name], value, `the tag ${name} is another one`);
        deepStrictEqual(await list(bench, { [tagNames.installation]: randomUUID() }), []);
        await remove(bench, image, providerImage);
        await untilGone(bench, image);
      }),
  },
  {
    id: 'upload-lost',
    title: 'has one image of an upload, whichever answer of its API is lost',
    lacks: (bench) => lacksUploads(bench) ?? lacksProxy(bench),
    run: (bench) =>
      eachCall(bench, 'lose', async (image) => {
        await upload(bench, image).catch(expectFailure);
        return async () => {
          const providerImage = await upload(bench, image);
          if (lacksListImages(bench) === undefined) {
            const found = await until(
              'the image to be listed',
              async () => {
                const listed = await list(bench, { ...image.tags });
                return listed.length > 0 && listed;
              },
              bench.patienceMs,
            );
            deepStrictEqual(
              found.map((one) => one.providerImage),
              [providerImage],
            );
          }
          await remove(bench, image, providerImage);
        };
      }),
  },
  {
    id: 'upload-cancel',
    title:
      'ends an upload that is cancelled, whichever call of it hangs, and leaves nothing that cannot be deleted',
    lacks: (bench) => lacksUploads(bench) ?? lacksProxy(bench),
    run: (bench) =>
      eachCall(bench, 'hold', async (image, number) => {
        const cancel = new AbortController();
        let over = false;
        const call = upload(bench, image, cancel.signal)
          .then(
            () => 'taken in',
            (error: unknown) => error,
          )
          .finally(() => {
            over = true;
          });
        await until(
          'the call that hangs',
          () => Promise.resolve(over || (bench.proxy?.calls() ?? 0) >= number),
          bench.patienceMs,
        );
        if (over) return undefined;
        cancel.abort(new Error('the upload was cancelled'));
        ok((await call) instanceof Error, 'it was cancelled, and ended as if nothing had happened');
        return async () => {
          await bench.untilVisible();
          await remove(bench, image);
          if (lacksListImages(bench) === undefined) await untilGone(bench, image);
        };
      }),
  },
];

function lacksUploads({ plugin }: ProviderBench): string | undefined {
  return plugin.abilities.includes('uploadImage') ? undefined : 'it has no method uploadImage';
}

function lacksListImages({ plugin }: ProviderBench): string | undefined {
  return plugin.abilities.includes('listImages') ? undefined : 'it has no method listImages';
}

function lacksProxy({ proxy }: ProviderBench): string | undefined {
  return proxy === undefined ? "options.endpoint names no field with the API's address" : undefined;
}

async function withImage(bench: ProviderBench, use: (image: ImageFileInput) => Promise<void>): Promise<void> {
  const image = await newImage(bench);
  try {
    await use(image);
  } finally {
    bench.proxy?.clear();
    await remove(bench, image);
  }
}

/** One that nobody uploaded yet. */
async function newImage(bench: ProviderBench): Promise<ImageFileInput> {
  const { upload: sent, installation } = bench;
  ok(sent !== undefined, 'it takes uploads, so what options.open gives needs upload: {file, format}');
  const uid = randomUUID();
  const name = `suite-${uid.slice(0, 8)}`;
  const bytes = await readFile(sent.file);
  return {
    ...sent,
    image: { name, revision: '1' },
    providerImage: `${name}@1`,
    token: uploadToken(uid, 1, 'suite'),
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes: bytes.length,
    tags: {
      [tagNames.installation]: installation,
      [tagNames.key]: machineKey(uid, uploadId(name, 1), 1),
      [tagNames.cluster]: `image/${name}`,
    },
    progress: () => undefined,
  };
}

/** The provider's word for it. */
async function upload(bench: ProviderBench, image: ImageFileInput, signal?: AbortSignal): Promise<string> {
  const said = readUploaded(
    await bench.ask((provider) => provider.uploadImage?.(image), signal === undefined ? {} : { signal }),
    { plugin: 'suite', method: 'uploadImage' },
  );
  strictEqual(said.answer, 'done', `the upload was not done: ${said.why}`);
  return said.providerImage ?? image.providerImage;
}

async function remove(
  bench: ProviderBench,
  { image, token, progress, providerImage: asked }: ImageFileInput,
  providerImage = asked,
): Promise<void> {
  const input: LibraryInput = { image, token, progress, providerImage };
  const said = readOutcome(await bench.ask((provider) => provider.deleteImage?.(input), {}), {
    plugin: 'suite',
    method: 'deleteImage',
  });
  strictEqual(said.answer, 'done', `it was not deleted: ${said.why}`);
}

async function list(
  bench: ProviderBench,
  tags: Readonly<Record<string, string>>,
): Promise<readonly UploadedImage[]> {
  return readImages(await bench.ask((provider) => provider.listImages?.(tags), {}), {
    plugin: 'suite',
    method: 'listImages',
  });
}

async function untilGone(bench: ProviderBench, image: ImageFileInput): Promise<void> {
  await until(
    'the image to be listed no more',
    async () => (await list(bench, { ...image.tags })).length === 0,
    bench.patienceMs,
  );
}

/** Lost is lost: whatever it makes of that, it must not crash. */
function expectFailure(error: unknown): void {
  if (!isPluginError(error)) throw error;
}

/**
 * Does it once for each call that an upload makes: the first time with its first call gone wrong, and so on.
 */
async function eachCall(
  bench: ProviderBench,
  kind: CallFault['kind'] & ('lose' | 'hold'),
  act: (image: ImageFileInput, number: number) => Promise<(() => Promise<void>) | undefined>,
): Promise<void> {
  const { proxy } = bench;
  if (proxy === undefined) return;
  for (let number = 1; ; number += 1) {
    ok(number <= mostCalls, `one upload takes more than ${mostCalls} calls`);
    let met = false;
    await withImage(bench, async (image) => {
      proxy.set((call) => {
        if (call.number !== number) return undefined;
        met = true;
        return { kind };
      });
      const rest = await act(image, number);
      // What hangs goes on hanging until the proxy is closed; only new calls pass.
      proxy.clear();
      await rest?.();
    });
    if (!met) return;
  }
}
