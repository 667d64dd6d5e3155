import type { ImageClient } from '../../client/image.js';
import type { ImageState } from '../../model/image/state.js';
import { openKeys, type ServerOptions } from '../configuration.js';
import { formatCount } from '../format.js';
import { confirmGoOn, exportRecords, readRecords, sealRecords, type ExportVerbOptions } from '../records.js';
import type { Session } from '../session.js';
import { verb } from '../verb.js';

type Answer =
  | {
      readonly image: { readonly name: string };
      readonly id: string;
      readonly builds: number;
      readonly records: string;
    }
  | { readonly image: { readonly name: string }; readonly cancelled: true };

/** Stops an image and writes its records for a move to another server or namespace. */
export const exportImage = verb(
  (session, name: string, options: ExportVerbOptions): Promise<Answer> =>
    options.cancel === true
      ? cancelExport(session.client.images, name, options)
      : writeRecords(session, name, options),
  {
    worker: true,
    print: (output, answer) => {
      const { name } = answer.image;
      if ('cancelled' in answer) return output.line(`image ${name} is resumed`);
      output.raw(JSON.stringify(answer));
      output.note(`image ${name} is exported with ${formatCount(answer.builds, 'build')}, and stopped`);
      output.note('next: heddle image restore FILE, with the other server and the same keys');
    },
  },
);

/** Starts an image with the records that `image export` wrote. */
export const restore = verb(
  async ({ client, config }, file: string, _options: ServerOptions) => {
    const records = readRecords<ImageState>(file, 'image', openKeys(config));
    const { unchanged } = await client.images.restore(records);
    const { name, builds } = records.carried;
    return { image: { name }, id: records.exported.id, builds: builds.length, unchanged };
  },
  {
    worker: true,
    print: (output, { image: { name }, builds, unchanged }) =>
      output.line(
        `image ${name} ${unchanged ? 'was already' : 'is'} restored with ${formatCount(builds, 'build')}`,
      ),
  },
);

async function writeRecords(session: Session, name: string, options: ExportVerbOptions): Promise<Answer> {
  const words = {
    rests: 'nothing is built, uploaded or deleted',
    waitsFor: ([work = '']: readonly string[]) => `waits for work in progress: ${work}`,
  };
  const { images } = session.client;
  const records = await exportRecords(session, 'image', name, words, options, (how) =>
    images.export(name, how),
  );
  return {
    image: { name },
    id: records.exported.id,
    builds: records.carried.builds.length,
    records: sealRecords(openKeys(session.config), 'image', records),
  };
}

async function cancelExport(images: ImageClient, name: string, options: ExportVerbOptions): Promise<Answer> {
  await confirmGoOn('image', name, await images.show(name), 'builds', options);
  await images.cancelExport(name);
  return { image: { name }, cancelled: true };
}
