import type { BuildCommand } from '../../schema/config-builder.js';

/** What a builder has, beside what every worker has. */
export interface BuilderParts {
  /** Where files of images are; all builders of a site see the same. */
  readonly folder: string;
  /** Builds of its site at once. */
  readonly builds: number;
  /** Commands that make files, by their names. */
  readonly commands: Readonly<Record<string, BuildCommand>>;
  /** Names this builder, for people. */
  readonly name: string;
}
