import type { ImageClient } from '../../client/image.js';
import type { ImageView } from '../../model/image/state.js';
import { ProblemsError } from '../../schema/problem.js';
import { loadImageFile } from '../../schema/image/read.js';
import { cleanLine } from '../clean-text.js';
import { CliError } from '../cli-error.js';
import { confirm } from '../confirm.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { requireWorker, withSession } from '../session.js';

/** Brings an image to its file. */
export async function apply(file: string, options: ServerOptions): Promise<number> {
  const reading = loadImageFile(file);
  if (!reading.ok) throw new ProblemsError(`${file} cannot be used:`, reading.problems);
  const { spec } = reading;
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const { unchanged, uid } = await session.client.images.apply(spec);
    output.line(`image ${spec.name}: ${unchanged ? 'unchanged' : 'configured'}`);
    if (!unchanged && spec.rebuildAgeMs === undefined) output.line(`next: heddle image build ${spec.name}`);
    output.document({ image: { name: spec.name, uid, unchanged } });
    return exitCodes.ok;
  });
}

export function cancel(name: string, options: ServerOptions): Promise<number> {
  return ask(name, options, async (images) => {
    await images.cancel(name);
    return 'the build is being ended, and nobody asks for it any more';
  });
}

export function rollBack(name: string, options: ServerOptions): Promise<number> {
  return ask(name, options, async (images) => {
    const { build } = await images.rollBack(name);
    const { newest } = await images.show(name);
    return `build ${build} is being deleted, ${newest === undefined ? 'none' : `build ${newest}`} is offered, and nothing is built\nnext: heddle image resume ${name}`;
  });
}

export function pause(name: string, options: ServerOptions): Promise<number> {
  return ask(name, options, async (images) => {
    await images.pause(name);
    return `paused\nnext: heddle image resume ${name}`;
  });
}

export function resume(name: string, options: ServerOptions): Promise<number> {
  return ask(name, options, async (images) => {
    await images.resume(name);
    return 'resumed';
  });
}

export async function remove(
  name: string,
  options: ServerOptions & { readonly build?: number; readonly yes?: boolean; readonly wait: boolean },
): Promise<number> {
  const { build, wait } = options;
  return ask(name, options, async (images) => {
    requireBuild(await images.show(name), build);
    await confirm(
      build === undefined
        ? `Delete image ${name} with all its builds?`
        : `Delete build ${build} of image ${name}?`,
      options,
    );
    await images.delete(name, build);
    if (build !== undefined || !wait)
      return `${build === undefined ? 'it' : `build ${build}`} is being deleted`;
    await images.gone(name);
    return 'deleted';
  });
}

/** Nobody is asked about what is not there. */
function requireBuild({ name, builds }: ImageView, build: number | undefined): void {
  if (build === undefined || builds.some(({ number }) => number === build)) return;
  throw new CliError(
    'NotFound',
    `image ${name} has no build ${build}; 'heddle image show ${name}' shows those it has`,
    { next: `heddle image show ${name}` },
  );
}

async function ask(
  name: string,
  options: ServerOptions,
  what: (images: ImageClient) => Promise<string>,
): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async ({ client }) => {
    const [said = '', ...more] = (await what(client.images)).split('\n');
    output.line(cleanLine(`image ${name}: ${said}`));
    for (const line of more) output.line(cleanLine(line));
    output.document({ image: { name }, said });
    return exitCodes.ok;
  });
}
