import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { machineKey, tagNames, uploadId, uploadToken } from '../model/names.js';
import type { ImageFileInput, UploadedImage } from '../plugins/contract.js';
import { readImages, readOutcome, readUploaded } from '../schema/machine-answer.js';
import {
  cancelAtCall,
  expectPluginError,
  forEachCall,
  lacksProxy,
  type CallFaultKind,
} from './api-faults.js';
import type { CallOptions, ProviderBench } from './provider-bench.js';
import type { Case } from './runner.js';

export type UploadCaseId = 'uploads' | 'upload' | 'upload-list' | 'upload-lost' | 'upload-cancel';

/** Most API calls that one upload may make. */
const mostCalls = 30;

/** Always runs, so that a provider that takes uploads cannot leave their cases out by accident. */
export const uploadsAreTried: Case<UploadCaseId, ProviderBench> = {
  id: 'uploads',
  title: 'has its uploads tested if it takes any',
  run: (bench) => {
    strictEqual(
      bench.opened.options.uploads === true,
      bench.has('uploadImage'),
      'the options of its suite need uploads: true if and only if the provider takes uploads',
    );
    return Promise.resolve();
  },
};

/** What a provider does that takes images as files. */
export const uploadCases: readonly Case<UploadCaseId, ProviderBench>[] = [
  {
    id: 'upload',
    title: 'takes a file as an image, once for a token, and deletes it, and an absent one too',
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
    title: "lists uploads by our installation's tag, with their tags, and nothing by another",
    lacks: (bench) => (bench.has('listImages') ? undefined : 'it has no method listImages'),
    run: (bench) =>
      withImage(bench, async (image) => {
        const providerImage = await upload(bench, image);
        const [found] = await bench.until('the image to be listed', async () => {
          const listed = await list(bench, { [tagNames.installation]: bench.installation });
          return listed.some(({ tags }) => tags[tagNames.key] === image.tags?.[tagNames.key]) && listed;
        });
        strictEqual(found?.providerImage, providerImage);
        for (const [name, value] of Object.entries(image.tags ?? {}))
          strictEqual(found.tags[name], value, `the tag ${name} differs`);
        deepStrictEqual(await list(bench, { [tagNames.installation]: randomUUID() }), []);
        // The token contains the account's name, which may change between upload and deletion.
        await remove(bench, { ...image, token: uploadToken(randomUUID(), 1, 'renamed') }, providerImage);
        await untilGone(bench, image);
      }),
  },
  {
    id: 'upload-lost',
    title: 'has one image of an upload, whichever API response is lost',
    lacks: (bench) => lacksUploads(bench) ?? lacksProxy(bench),
    run: (bench) =>
      eachCall(bench, 'lose', ({ arm }) =>
        withImage(bench, async (image) => {
          arm();
          await upload(bench, image).catch(expectPluginError);
          bench.proxy?.clear();
          const providerImage = await upload(bench, image);
          if (bench.has('listImages')) {
            const found = await bench.until('the image to be listed', async () => {
              const listed = await list(bench, { ...image.tags });
              return listed.length > 0 && listed;
            });
            deepStrictEqual(
              found.map((one) => one.providerImage),
              [providerImage],
            );
          }
          await remove(bench, image, providerImage);
        }),
      ),
  },
  {
    id: 'upload-cancel',
    title: 'ends a cancelled upload, whichever of its calls hangs, and leaves nothing that cannot be deleted',
    lacks: (bench) => lacksUploads(bench) ?? lacksProxy(bench),
    run: async (bench) => {
      const images: ImageFileInput[] = [];
      try {
        await eachCall(bench, 'hold', async ({ number, arm }) => {
          const image = await newImage(bench);
          images.push(image);
          arm();
          await cancelAtCall(bench, number, (signal) => upload(bench, image, { signal }));
        });
      } finally {
        bench.proxy?.clear();
        // Once for all: a provider may show what it made only after some time.
        await bench.untilVisible();
        for (const image of images) await remove(bench, image);
      }
      if (bench.has('listImages')) for (const image of images) await untilGone(bench, image);
    },
  },
];

function lacksUploads(bench: ProviderBench): string | undefined {
  return bench.has('uploadImage') ? undefined : 'it has no method uploadImage';
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

/** An image that is not uploaded yet. */
async function newImage({ opened, installation }: ProviderBench): Promise<ImageFileInput> {
  const { upload: file } = opened.account;
  ok(file !== undefined, 'it takes uploads, so what options.open gives needs upload: {file, format}');
  const uid = randomUUID();
  const name = `suite-${uid.slice(0, 8)}`;
  const bytes = await readFile(file.file);
  return {
    ...file,
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

/** @returns the provider's name for the image. */
async function upload(bench: ProviderBench, image: ImageFileInput, options?: CallOptions): Promise<string> {
  const { answer, why, providerImage } = readUploaded(
    await bench.ask((provider) => provider.uploadImage?.(image), options),
    { plugin: 'suite', method: 'uploadImage' },
  );
  strictEqual(answer, 'done', `the upload was not done: ${why}`);
  return providerImage ?? image.providerImage;
}

async function remove(
  bench: ProviderBench,
  { image, token, tags, progress, providerImage: requested }: ImageFileInput,
  providerImage = requested,
): Promise<void> {
  const { answer, why } = readOutcome(
    await bench.ask((provider) => provider.deleteImage?.({ image, token, tags, progress, providerImage })),
    { plugin: 'suite', method: 'deleteImage' },
  );
  strictEqual(answer, 'done', `the image was not deleted: ${why}`);
}

export async function list(
  bench: ProviderBench,
  tags: Readonly<Record<string, string>>,
): Promise<readonly UploadedImage[]> {
  return readImages(await bench.ask((provider) => provider.listImages?.(tags)), {
    plugin: 'suite',
    method: 'listImages',
  });
}

async function untilGone(bench: ProviderBench, image: ImageFileInput): Promise<void> {
  await bench.until(
    'the image to leave the list',
    async () => (await list(bench, { ...image.tags })).length === 0,
  );
}

/** Runs once for each API call that one upload makes. */
async function eachCall(
  bench: ProviderBench,
  kind: CallFaultKind,
  run: Parameters<typeof forEachCall>[3],
): Promise<void> {
  const isComplete = await forEachCall(bench, kind, mostCalls, run);
  ok(isComplete, `one upload takes more than ${mostCalls} calls`);
}
