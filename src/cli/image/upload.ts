import type { Build } from '../../model/image/build.js';
import { CliError } from '../errors.js';
import { optional } from '../format.js';
import { verb } from '../verb.js';
import { followImage, type FollowOptions } from './follow.js';

/** Retries the failed uploads of the newest build, and waits for their end. */
export const upload = verb(
  async (session, name: string, options: FollowOptions): Promise<Pick<Build, 'number' | 'uploads'>> => {
    const { images } = session.client;
    const { build: number } = await images.upload(name);
    if (!options.wait) {
      const { builds } = await images.show(name);
      return { number, uploads: builds.find((build) => build.number === number)?.uploads ?? [] };
    }
    return followImage(session, options, {
      name,
      what: `the upload of image ${name}@${number}`,
      wait: (signal, onView) => images.waitForUploads(name, number, { signal, onView, everyMs: 500 }),
    });
  },
  {
    worker: true,
    document: ({ number, uploads }, name) => ({ image: { name }, build: number, uploads }),
    print: (output, { number, uploads }, name) => {
      if (uploads.length === 0) output.line(`image ${name}@${number} has no uploads`);
      for (const { provider, state, image, why } of uploads)
        output.line(`${provider}: ${state}${optional(', ', image)}${optional(': ', why)}`);
    },
    error: ({ number, uploads }) => {
      const failed = uploads.filter(({ state }) => state === 'failed');
      return failed.length === 0
        ? undefined
        : new CliError(
            'Failed',
            `build ${number} was not uploaded to ${failed.map(({ provider }) => provider).join(', ')}`,
          );
    },
  },
);
