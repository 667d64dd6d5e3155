import { loadRegistry, type LoadOptions, type Registry } from '../plugins/registry.js';
import type { ReferenceWriter } from '../secrets/reference.js';

/** What the process that runs a suite gives the plugin, as a worker does. */
export interface Surroundings {
  /** Where references such as `env:TOKEN` are read. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly programs: NonNullable<LoadOptions['programs']>;
  /** Who wrote the references in the suite's settings. */
  readonly writer: ReferenceWriter;
}

/** Of a suite in a test file, which has the values themselves. */
export const noSurroundings: Surroundings = {
  environment: {},
  programs: { environment: {}, limits: {} },
  writer: { writtenBy: 'administrator' },
};

/** Loads plugins as a worker does. */
export function loadPlugins(
  folders: readonly string[] = [],
  { programs }: Surroundings,
  info: (words: string) => void = () => undefined,
): Promise<Registry> {
  return loadRegistry({ folders, programs, log: { info } });
}
