import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig, type Config } from '../../config/index.js';
import { inspectPlugins } from '../inspect-plugins.js';
import type { Descriptor } from '../../schema/descriptor.js';
import type { CommonOptions } from '../configuration.js';

export interface AccountOptions extends CommonOptions {
  /** The heddle.yaml to read and change; it need not exist yet. */
  readonly file?: string;
}

/** The file with the accounts, and their possible plugins. */
export interface Workspace {
  readonly config: Config;
  /** The heddle.yaml, which need not exist; for a link, its target. */
  readonly file: string;
  /** Providers, in the order of their names. */
  readonly descriptors: readonly Descriptor[];
  /** Automators with administrators' fields, in the order of their names. */
  readonly automators: readonly Descriptor[];
}

/** @throws ProblemsError with everything that is wrong in the configuration or with a plugin. */
export async function openWorkspace(options: AccountOptions): Promise<Workspace> {
  const named = options.file ?? options.config;
  const config = loadConfig({ configFlag: named, mayBeMissing: true });
  const registry = await inspectPlugins(config);
  const file = config.file ?? resolve(named ?? (config.environment['HEDDLE_CONFIG'] || 'heddle.yaml'));
  return {
    config,
    file: followLinks(file),
    descriptors: registry.providers().map(({ descriptor }) => descriptor),
    automators: registry
      .automators()
      .map(({ descriptor }) => descriptor)
      .filter(({ fields }) => Object.keys(fields?.admin ?? {}).length > 0),
  };
}

/** A file that does not exist yet keeps its name. */
function followLinks(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
