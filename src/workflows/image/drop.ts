import { isGone, type Build, type Upload } from '../../model/image/build.js';
import { withdrawnUploads } from '../../model/image/decide.js';
import { whyOf } from './failure.js';
import { runLibraryTask } from './library.js';
import { buildOf, changeBuild, changeUpload, removeUpload, type ImageMemory } from './memory.js';
import { change } from '../entity.js';

/**
 * Deletes the remains of a build, at the providers first. The next periodic check retries what fails now.
 */
export async function drop(memory: ImageMemory, { number, uploads, files }: Build): Promise<void> {
  memory.tried = [...memory.tried, `drop ${number}`];
  await Promise.all(uploads.map((upload) => deleteUpload(memory, number, upload)));
  await Promise.all(
    files.map(async ({ path, format, site }) => {
      try {
        await runLibraryTask(memory, number, 'REMOVE_FILE', { site }, { file: { path, format } });
        changeBuild(memory, number, {
          files: buildOf(memory, number).files.filter((file) => file.path !== path),
        });
      } catch (error) {
        changeBuild(memory, number, { why: whyOf(error) });
      }
    }),
  );
  const left = buildOf(memory, number);
  if (left.state === 'deleting' && isGone(left))
    change(memory, { builds: memory.state.builds.filter((build) => build.number !== number) });
}

/** Deletes the uploads of a ready build at accounts that its image does not name any more. */
export async function withdraw(memory: ImageMemory, build: Build): Promise<void> {
  memory.tried = [...memory.tried, `withdraw ${build.number}`];
  await Promise.all(
    withdrawnUploads(memory.state, build).map((upload) => deleteUpload(memory, build.number, upload)),
  );
}

async function deleteUpload(
  memory: ImageMemory,
  number: number,
  { provider, type, site, image }: Upload,
): Promise<void> {
  changeUpload(memory, number, { provider, type, site, state: 'deleting' });
  try {
    await runLibraryTask(
      memory,
      number,
      'DELETE_IMAGE',
      { site, provider, type },
      image === undefined ? {} : { providerImage: image },
    );
    removeUpload(memory, number, provider);
  } catch (error) {
    changeUpload(memory, number, { provider, type, site, state: 'deleting', why: whyOf(error) });
  }
}
