import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Knowledge, Outcome, SizeReading } from '../../../model/machine/answer.js';
import { PluginError } from '../../errors.js';
import type { ImageInput } from '../../machine-abilities.js';
import type { RealMachine } from '../machine-fields.js';
import type { MachineRuns } from '../machine-runs.js';
import { programEnvironment } from '../run-command.js';
import { findImage, openImage, sizeOfImage } from './image-folder.js';
import type { Imaging } from './imaging-fields.js';
import { exits, runFiles, type ImagingOrder } from './imaging-order.js';
import { verifyImage } from './prepare-image.js';

interface NetworkImagerOptions {
  readonly imaging: Imaging;
  readonly machine: RealMachine;
  readonly runs: MachineRuns;
  /** Switches the machine off, then on so that it boots from the network once. */
  readonly boot: (beforeOn: () => Promise<void>) => Promise<void>;
  readonly isOff: () => Promise<boolean>;
  /** Number of the task's attempt: before a later one, an earlier attempt may have written. */
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly detach: AbortSignal | undefined;
}

const program = fileURLToPath(new URL('./main.js', import.meta.url));

/**
 * Writes images itself: the machine boots a rescue system from a server on this host, which writes the image
 * and reports the digest of what it reads back. The server is a detached run. When the run has ended, the
 * machine is off.
 */
export class NetworkImager {
  readonly #options: NetworkImagerOptions;

  constructor(options: NetworkImagerOptions) {
    this.#options = options;
  }

  async exists({ providerImage }: ImageInput): Promise<Knowledge> {
    const found = await findImage(this.#options.imaging.images, providerImage);
    return found.image === undefined ? found : { is: 'yes' };
  }

  /** Images have no other source. */
  async retrieve({ providerImage }: ImageInput): Promise<Outcome> {
    return {
      answer: 'not done',
      why: `image ${providerImage} does not exist in ${this.#options.imaging.images}`,
    };
  }

  size({ providerImage }: ImageInput): Promise<SizeReading> {
    return sizeOfImage(this.#options.imaging.images, providerImage);
  }

  async verify({ providerImage, progress }: ImageInput): Promise<Outcome> {
    const { imaging, signal } = this.#options;
    try {
      await verifyImage(await openImage(imaging, providerImage), progress, signal);
      return { answer: 'done' };
    } catch (error) {
      signal.throwIfAborted();
      return { answer: 'not done', why: error instanceof Error ? error.message : String(error) };
    }
  }

  async load({ image, providerImage, token, progress }: ImageInput): Promise<Outcome> {
    const { imaging, machine, runs, boot, isOff, attempt, signal, detach } = this.#options;
    const { name, mac, disk = imaging.disk } = machine;
    if (mac === undefined)
      throw new PluginError(
        'Invalid',
        `machine ${name} has no mac, the address of its boot interface; add it in heddle.yaml or its inventory`,
      );
    const order: ImagingOrder = {
      images: imaging.images,
      image: providerImage,
      mac,
      disk,
      listen: imaging.listen,
      rescue: imaging.rescue,
      bootMs: imaging.bootMinutes * 60_000,
      isFirst: attempt === 1,
    };
    const { code, lastLine } = await runs.run({
      what: `load of ${image.name}@${image.revision} on ${name}`,
      token,
      rescue: true,
      program: () => ({
        words: [process.execPath, program, JSON.stringify(order)],
        environment: programEnvironment,
      }),
      isAnswer: (exit) => exit !== exits.lost && Object.values<number | null>(exits).includes(exit),
      ready: [
        {
          file: runFiles.ready,
          act: async (own) => {
            if (existsSync(join(own, runFiles.booted))) return true;
            await boot(() => writeFile(join(own, runFiles.booting), ''));
            await writeFile(join(own, runFiles.booted), '');
            return true;
          },
        },
        {
          file: runFiles.reported,
          act: async (own) => {
            if (!(await isOff())) return false;
            await writeFile(join(own, runFiles.off), '');
            return true;
          },
        },
      ],
      progress,
      signal,
      detach,
    });
    if (code === exits.done) return { answer: 'done' };
    if (code === exits.unprepared) throw new PluginError('ImageUnusable', lastLine);
    if (code === exits.broken) throw new PluginError('UnknownOutcome', lastLine);
    return { answer: code === exits.unwritten ? 'not done' : 'unknown', why: lastLine };
  }
}
