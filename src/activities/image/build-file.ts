import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runDetached } from '../../detached/detached-run.js';
import { anySignal } from '../../model/signals.js';
import { formatImageRef } from '../../model/machine/image.js';
import { PluginError } from '../../plugins/errors.js';
import { refuseUntrusted } from '../../schema/named-files.js';
import type { MachineHandler, MachineCall } from '../task-call.js';
import { describeFile, fileOf } from './files.js';
import { checkCommandVariables } from './check-variables.js';
import type { BuilderParts } from './parts.js';

const longestMs = 8 * 3_600_000;

/** BUILD_FILE: has a command of this builder make the files of an image. */
export const buildFile: MachineHandler = async (call) => {
  const builder = builderOf(call);
  const { image, command, token } = call.request.order;
  if (image === undefined || command === undefined || token === undefined)
    throw new PluginError('Invalid', 'the task lacks an image or a command');
  const own = Object.hasOwn(builder.commands, command.name) ? builder.commands[command.name] : undefined;
  if (own === undefined)
    throw new PluginError(
      'Invalid',
      `this builder has no command ${command.name} (it has: ${Object.keys(builder.commands).join(', ') || 'none'}); add it under builder.commands in its heddle.yaml`,
    );
  // The builder's own heddle.yaml decides, which may have changed since the image was checked.
  const [refused] = checkCommandVariables(command.name, own, command.environment);
  if (refused !== undefined)
    throw new PluginError(
      'Invalid',
      `command ${command.name} for ${formatImageRef(image)}: ${refused.path.at(-1)} ${refused.wrong}: ${refused.right}`,
    );
  refuseUntrusted(
    'command',
    own.run,
    (why) => new PluginError('Invalid', `command ${command.name} of the builder: ${why}`),
  );
  const folder = join(builder.folder, `.build-${image.name}-${image.revision}`);
  const files = command.formats.map((format) => ({ format, path: fileOf(builder.folder, image, format) }));
  const { attempt } = call;
  attempt.at(`runs ${command.name}`);
  const { code, directory, logFile } = await runDetached({
    folder,
    what: `command ${command.name} for ${formatImageRef(image)}`,
    token,
    isAnswer: () => true,
    timeoutMs: command.timeoutMs ?? longestMs,
    signal: attempt.signal,
    detach: attempt.detach,
    program: (directory) => ({
      words: own.run,
      environment: {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        HOME: folder,
        ...command.environment,
        HEDDLE_IMAGE: image.name,
        HEDDLE_REVISION: image.revision,
        HEDDLE_FORMATS: command.formats.join(' '),
        HEDDLE_OUTPUT: outputIn(directory),
      },
    }),
  });
  await attempt.output.print('stdout', await readFile(logFile).catch(() => Buffer.alloc(0)));
  if (code !== 0)
    throw new PluginError(
      'ScriptFailed',
      `command ${command.name} for ${formatImageRef(image)} ended with exit code ${code}: ${(await tailOf(logFile)).trim().slice(-500)}`,
      { exitCode: code, stdout: await tailOf(logFile) },
    );
  const made: Awaited<ReturnType<typeof describeFile>>[] = [];
  for (const { format, path } of files) {
    // An earlier attempt may have moved it already.
    await rename(`${outputIn(directory)}.${format}`, path).catch(() => undefined);
    attempt.at(`reads ${path}`);
    made.push(
      await describeFile(path, format, anySignal([attempt.signal, attempt.detach])).catch(
        (cause: unknown) => {
          if (attempt.signal.aborted || attempt.detach.aborted) throw cause;
          throw new PluginError(
            'ScriptFailed',
            `command ${command.name} succeeded, but did not create the file $HEDDLE_OUTPUT.${format}`,
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
  if (parts.builder === undefined) throw new PluginError('Invalid', 'this worker is not a builder');
  return parts.builder;
}

/** What comes before the dot of each file that the command makes. */
function outputIn(directory: string): string {
  return join(directory, 'image');
}

/** The end of what it printed. */
async function tailOf(logFile: string): Promise<string> {
  const bytes = 4_096;
  try {
    const file = await open(logFile, 'r');
    try {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read({
        buffer: Buffer.alloc(bytes),
        position: Math.max(0, size - bytes),
      });
      return buffer.subarray(0, bytesRead).toString('utf8');
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}
