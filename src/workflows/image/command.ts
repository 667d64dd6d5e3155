import { milliseconds } from '../../model/milliseconds.js';
import { ApplicationFailure } from '@temporalio/workflow';
import type { ImageFile } from '../../model/image/build.js';
import type { CheckedImage } from '../../model/image/messages.js';
import type { CommandSource, ImageSpec } from '../../model/image/spec.js';
import { runLibraryTask } from './library.js';
import { buildOf, changeBuild, type ImageMemory } from './memory.js';
import { uploadAll, validatedAtOf } from './uploads.js';
import { validate } from './validate.js';

/**
 * A command of the builders makes files, these go to the providers, and a machine is booted from one of them.
 */
export async function buildByCommand(
  memory: ImageMemory,
  number: number,
  spec: ImageSpec,
  source: CommandSource,
  checked: CheckedImage,
): Promise<void> {
  const { run: name, environment, formats, timeout } = source;
  const timeoutMs = timeout === undefined ? undefined : milliseconds(timeout);
  changeBuild(memory, number, { step: `BUILD_FILE by ${name}` });
  const command = { name, environment, formats, timeoutMs };
  const { files = [], builder } = await runLibraryTask(
    memory,
    number,
    'BUILD_FILE',
    { site: checked.site },
    { command },
  );
  const { provenance } = buildOf(memory, number);
  changeBuild(memory, number, {
    files: files.map((file): ImageFile => ({ ...file, site: checked.site })),
    sizeMb: Math.ceil(Math.max(0, ...files.map(({ bytes }) => bytes)) / 2 ** 20),
    provenance: { ...provenance, ...(builder === undefined ? {} : { builder }) },
    step: 'uploads',
  });
  await uploadAll(memory, number, checked, spec.uploads, validatedAtOf(spec));
  const { uploads } = buildOf(memory, number);
  if (spec.uploads.length > 0 && uploads.every(({ state }) => state === 'failed')) {
    throw ApplicationFailure.nonRetryable(
      `no provider accepted it: ${uploads.map(({ provider, why }) => `${provider}: ${why}`).join('; ')}`,
      'Invalid',
    );
  }
  // The files of a command need not have a record of their image.
  if (spec.validate !== false) await validate(memory, number, { validation: spec.validate, system: null });
}
