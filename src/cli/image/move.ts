import type { ImageClient } from '../../client/image.js';
import type { ImageState } from '../../model/image/state.js';
import { openKeys, type ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { formatCount } from '../format.js';
import { readRecords, sealRecords } from '../records.js';
import type { Session } from '../session.js';
import { confirm } from '../terminal.js';
import { verb } from '../verb.js';
import { untilInterrupted } from '../waiting.js';

interface ExportOptions extends ServerOptions {
  readonly cancel?: boolean;
  readonly yes?: boolean;
}

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
  (session, name: string, options: ExportOptions): Promise<Answer> =>
    options.cancel === true
      ? cancelExport(session.client.images, name, options)
      : writeRecords(session, name, options),
  {
    worker: true,
    print: (output, answer) => {
      const { name } = answer.image;
      if ('cancelled' in answer) return output.line(`image ${name} goes on`);
      output.raw(JSON.stringify(answer));
      output.note(`image ${name} is exported with ${formatCount(answer.builds, 'build')}, and stopped`);
      output.note('next: heddle image restore FILE, with the other server and the same keys');
    },
  },
);

/** Starts an image with the records that `image export` wrote. */
export const restore = verb(
  async ({ client, config }, file: string, _options: ServerOptions) => {
    const records = readRecords<ImageState>(file, 'an image', openKeys(config));
    const { unchanged } = await client.images.restore(records);
    const { name, builds } = records.carried;
    return { image: { name }, id: records.exported.id, builds: builds.length, unchanged };
  },
  {
    worker: true,
    print: (output, { image: { name }, builds, unchanged }) =>
      output.line(
        `image ${name} ${unchanged ? 'had been' : 'is'} restored with ${formatCount(builds, 'build')}`,
      ),
  },
);

async function writeRecords(
  { client, config, output }: Session,
  name: string,
  options: ExportOptions,
): Promise<Answer> {
  await confirm(
    `Export image ${name}? It stops here: nothing is built, uploaded or deleted until it is restored elsewhere.`,
    options,
  );
  let noted = '';
  const records = await untilInterrupted(
    (signal) =>
      client.images.export(name, {
        signal,
        onWait: ([work = '']) => {
          if (work !== noted) output.note(`waits for work in progress: ${work}`);
          noted = work;
        },
      }),
    `image ${name} is stopped, and its export`,
    `heddle image export ${name}`,
  );
  return {
    image: { name },
    id: records.exported.id,
    builds: records.carried.builds.length,
    records: sealRecords(openKeys(config), 'an image', records),
  };
}

async function cancelExport(images: ImageClient, name: string, options: ExportOptions): Promise<Answer> {
  const { exported } = await images.show(name);
  if (exported === undefined)
    throw new CliError('Refused', `image ${name} is not exported`, { next: 'heddle image list' });
  await confirm(
    `Let image ${name} go on? Only if its records were restored nowhere: otherwise two images have the same builds.`,
    options,
  );
  await images.cancelExport(name);
  return { image: { name }, cancelled: true };
}
