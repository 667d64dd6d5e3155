import type { Config } from '../config/index.js';
import { loadRegistry, type Registry } from '../plugins/registry.js';

/** The plugins that a worker with this configuration has; none of them runs. @throws ProblemsError */
export async function inspectPlugins({
  plugins: folders,
  programs,
}: Pick<Config, 'plugins' | 'programs'>): Promise<Registry> {
  const registry = await loadRegistry({ folders, programs, log: { info: () => undefined } });
  await registry.close();
  return registry;
}
