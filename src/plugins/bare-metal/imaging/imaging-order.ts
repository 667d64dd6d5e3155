/** The argument of the program of a load. */
export interface ImagingOrder {
  /** The folder of images, and the image in it. */
  readonly images: string;
  readonly image: string;
  readonly mac: string;
  readonly disk: string | undefined;
  readonly listen: string;
  readonly rescue: string;
  readonly bootMs: number;
  /**
   * No earlier program of this load can have written: a failure before the first write leaves the disk
   * unchanged.
   */
  readonly isFirst: boolean;
}

/**
 * Exit codes of the program; Node.js exits with 1 to 13 after a crash. `unprepared`: the load did not reach
 * the machine, because of the image or the worker host. `unwritten`: the disk is certainly unchanged.
 * `broken`: the disk is changed or its state is unknown, and a retry does not help. Any other code means that
 * the program or the machine was lost, and the load is started again.
 */
export const exits = { done: 0, unwritten: 70, lost: 71, broken: 72, unprepared: 73 } as const;

/** Files in the directory of a run. */
export const runFiles = {
  /** The program serves the machine. */
  ready: 'ready',
  /** The worker is about to switch the machine on: earlier requests do not come from it. */
  booting: 'booting',
  /** The worker has switched the machine on since. */
  booted: 'booted',
  /** The machine reported to the program that the image is on the disk. */
  reported: 'reported',
  /** The worker has seen the machine off since then: it has completed its rescue system. */
  off: 'off',
  /** The image, unpacked. */
  copy: 'image.raw',
} as const;
