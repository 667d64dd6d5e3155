/** What the program of a load is given. */
export interface ImagingOrder {
  /** The folder of images, and the image in it. */
  readonly images: string;
  readonly image: string;
  readonly mac: string;
  readonly disk: string | undefined;
  readonly listen: string;
  readonly rescue: string;
  readonly bootMs: number;
  /** No earlier program of this load can have written: a failure before the first write leaves the disk as it was. */
  readonly isFirst: boolean;
}

/**
 * Exit codes of the program; Node.js ends a crash with 1 to 13. `unprepared`: the load never got to the machine, because of
 * the image or the worker host. `unwritten`: the disk is certainly as it was. `broken`: it is not, or that is not known, and a repetition does not help. Any other means that the program or the machine was lost,
 * and is begun again.
 */
export const exits = { done: 0, unwritten: 70, lost: 71, broken: 72, unprepared: 73 } as const;

/** Files in the directory of a run. */
export const runFiles = {
  /** The program serves the machine. */
  ready: 'ready',
  /** The worker is about to switch the machine on: no earlier request comes from it. */
  booting: 'booting',
  /** The worker has switched the machine on since. */
  booted: 'booted',
  /** The program was told that the image is on the disk. */
  reported: 'reported',
  /** The worker has seen the machine off since: it has come to the end of its rescue system. */
  off: 'off',
  /** The image, unpacked. */
  copy: 'image.raw',
} as const;
