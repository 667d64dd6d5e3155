import { buildRescue, type Rescue } from '../../rescue/build-rescue.js';
import { RescueError } from '../../rescue/rescue-error.js';
import { CliError } from '../errors.js';
import type { OutputOptions } from '../output.js';
import { localVerb } from '../verb.js';

interface RescueVerbOptions extends OutputOptions {
  readonly from: string;
  readonly kernel?: string;
  readonly add?: string;
}

/**
 * Makes the rescue system from a kernel, its modules and busybox of this machine, or of unpacked packages.
 */
export const rescue = localVerb(
  (folder: string, { from, kernel, add }: RescueVerbOptions): Promise<Rescue> =>
    buildRescue({ output: folder, from, kernel, add }).catch((error: unknown) => {
      throw error instanceof RescueError ? new CliError('NotFound', error.message) : error;
    }),
  {
    print: (output, { kernel, initramfs, version, bytes }) => {
      output.line(`${kernel} and ${initramfs}: Linux ${version}, ${Math.ceil(bytes / 2 ** 20)} MB`);
    },
  },
);
