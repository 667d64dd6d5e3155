import type { Settings } from '../../schema/config.js';

/** What a builder has, beside what every worker has. */
export interface BuilderParts extends Readonly<Settings['builder']> {
  /** Where files of images are; all builders of a site see the same. */
  readonly folder: string;
  /** Names this builder, for people. */
  readonly name: string;
}
