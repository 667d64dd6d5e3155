import type { ImageClient } from '../../client/image.js';
import type { ImageSpec } from '../../model/image/spec.js';
import { loadImageFile } from '../../schema/image/read.js';
import { ProblemsError } from '../../schema/problem.js';
import type { ServerOptions } from '../configuration.js';
import { confirm } from '../terminal.js';
import { CliError } from '../errors.js';
import { verb } from '../verb.js';
import type { Session } from '../session.js';
import { followImage, type FollowOptions } from './follow.js';

export const cancel = imageVerb(async (images, name) => {
  await images.cancel(name);
  return 'the build is being cancelled, and its request is withdrawn';
});

export const rollBack = imageVerb(async (images, name) => {
  const { build } = await images.rollBack(name);
  const { newest } = await images.show(name);
  return `build ${build} is being deleted, ${newest === undefined ? 'none' : `build ${newest}`} is offered, and builds are paused\nnext: heddle image resume ${name}`;
});

interface PauseOptions extends ServerOptions {
  readonly uploads?: string;
}

export const pause = imageVerb(async (images, name, { uploads }: PauseOptions) => {
  await images.pause(name, uploads);
  return uploads === undefined
    ? `paused\nnext: heddle image resume ${name}`
    : `uploads to ${uploads} are paused\nnext: heddle image resume ${name} --uploads ${uploads}`;
});

export const resume = imageVerb(async (images, name, { uploads }: PauseOptions) => {
  await images.resume(name, uploads);
  return uploads === undefined ? 'resumed' : `uploads to ${uploads} are resumed`;
});

interface RemoveOptions extends FollowOptions {
  readonly build?: number;
  readonly yes?: boolean;
}

export const remove = imageVerb(async (images, name, options: RemoveOptions, session) => {
  const { build, wait } = options;
  const { builds } = await images.show(name);
  if (build !== undefined && !builds.some(({ number }) => number === build)) {
    const next = `heddle image show ${name}`;
    throw new CliError('NotFound', `image ${name} has no build ${build}; run '${next}' to see its builds`, {
      next,
    });
  }
  const what = build === undefined ? `image ${name} with all its builds` : `build ${build} of image ${name}`;
  await confirm(`Delete ${what}?`, options);
  await images.delete(name, build);
  if (!wait) return `${build === undefined ? 'it' : `build ${build}`} is being deleted`;
  await followImage(session, options, {
    name,
    what: `the deletion of ${what}`,
    wait: (signal, onView) => images.waitUntilDeleted(name, build, { signal, onView, everyMs: 500 }),
  });
  return build === undefined ? 'deleted' : `build ${build} is deleted`;
});

/** A change of an image; it returns what happened, and perhaps a second line. */
function imageVerb<Options extends ServerOptions>(
  change: (images: ImageClient, name: string, options: Options, session: Session) => Promise<string>,
): (name: string, options: Options) => Promise<number> {
  return verb(
    async (session, name: string, options: Options) => {
      const { images } = session.client;
      const [said = '', ...more] = (await change(images, name, options, session)).split('\n');
      return { said, more };
    },
    {
      document: ({ said }, name) => ({ image: { name }, said }),
      print: (output, { said, more }, name) => {
        output.line(`image ${name}: ${said}`);
        for (const line of more) output.line(line);
      },
    },
  );
}

export async function apply(file: string, options: ServerOptions): Promise<number> {
  const reading = loadImageFile(file);
  if (!reading.ok) throw new ProblemsError(`${file} cannot be used:`, reading.problems);
  return applySpec(reading.spec, options);
}

const applySpec = verb(({ client }, spec: ImageSpec, _options: ServerOptions) => client.images.apply(spec), {
  worker: true,
  document: ({ uid, unchanged, withdrawn }, { name }) => ({ image: { name, uid, unchanged, withdrawn } }),
  print: (output, { unchanged, withdrawn }, { name, rebuildAge }) => {
    output.line(`image ${name}: ${unchanged ? 'unchanged' : 'configured'}`);
    if (withdrawn.length > 0)
      output.line(
        `its uploads at ${withdrawn.join(', ')} are being deleted, because the file no longer names these accounts`,
      );
    if (!unchanged && rebuildAge === undefined) output.line(`next: heddle image build ${name}`);
  },
});
