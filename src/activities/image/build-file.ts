import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { anySignal } from '../../model/signals.js';
import { formatImageRef } from '../../model/machine/image.js';
import { PluginError } from '../../plugins/errors.js';
import type { MachineHandler, MachineCall } from '../task-call.js';
import { runCommand, tailOf } from './command-run.js';
import { describeFile, fileOf } from './files.js';
import type { BuilderParts } from './parts.js';

const longestMs = 8 * 3_600_000;

/** BUILD_FILE: has a command of this builder make the files of an image. */
export const buildFile: MachineHandler = async (call) => {
  const builder = builderOf(call);
  const { image, command, token } = call.request.order;
  if (image === undefined || command === undefined || token === undefined)
    throw new PluginError('Invalid', 'the task names no image or no command');
  const words = builder.commands[command.name];
  if (words === undefined)
    throw new PluginError(
      'Invalid',
      `this builder has no command ${command.name} (it has: ${Object.keys(builder.commands).join(', ') || 'none'}); name it under builder.commands in its heddle.yaml`,
    );
  const folder = join(builder.folder, `.build-${image.name}-${image.revision}`);
  const files = command.formats.map((format) => ({ format, path: fileOf(builder.folder, image, format) }));
  const { attempt } = call;
  attempt.at(`runs ${command.name}`);
  const { exitCode, output, logFile } = await runCommand({
    folder,
    words,
    processes: builder.processes,
    timeoutMs: command.timeoutMs ?? longestMs,
    signal: attempt.signal,
    detach: attempt.detach,
    environment: {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: folder,
      ...command.environment,
      HEDDLE_IMAGE: image.name,
      HEDDLE_REVISION: image.revision,
      HEDDLE_FORMATS: command.formats.join(' '),
    },
  });
  await attempt.output.print('stdout', await readFile(logFile).catch(() => Buffer.alloc(0)));
  if (exitCode !== 0)
    throw new PluginError(
      'ScriptFailed',
      `command ${command.name} for ${formatImageRef(image)} ended with exit code ${exitCode}: ${(await tailOf(logFile)).trim().slice(-500)}`,
      { exitCode, stdout: await tailOf(logFile) },
    );
  const made: Awaited<ReturnType<typeof describeFile>>[] = [];
  for (const { format, path } of files) {
    // An earlier attempt may have moved it already.
    await rename(`${output}.${format}`, path).catch(() => undefined);
    attempt.at(`reads ${path}`);
    made.push(
      await describeFile(path, format, anySignal([attempt.signal, attempt.detach])).catch(
        (cause: unknown) => {
          if (attempt.signal.aborted || attempt.detach.aborted) throw cause;
          throw new PluginError(
            'ScriptFailed',
            `command ${command.name} ended well and left no $HEDDLE_OUTPUT.${format}`,
            { cause },
          );
        },
      ),
    );
  }
  await rm(folder, { recursive: true, force: true });
  return { files: made, builder: builder.name };
};

export function builderOf({ parts }: MachineCall): BuilderParts {
  if (parts.builder === undefined) throw new PluginError('Invalid', 'this worker is no builder');
  return parts.builder;
}
