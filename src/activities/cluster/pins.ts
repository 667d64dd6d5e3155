import { ApplicationFailure } from '@temporalio/common';
import type { EngineKind } from '../../model/node/failure.js';
import type { PluginPins } from '../../model/node/placement.js';
import type { Registry } from '../../plugins/registry.js';

/**
 * @throws ApplicationFailure PluginChanged where this worker has a plugin otherwise than the worker that
 * planned the operation.
 */
export function checkPins(registry: Pick<Registry, 'versions'>, pins: PluginPins = {}): void {
  const here = registry.versions();
  for (const [name, pin] of Object.entries(pins)) {
    const plugin = here.find((candidate) => `${candidate.type} ${candidate.name}` === name);
    if (plugin === undefined || plugin.digest === pin.digest) continue;
    const change =
      plugin.version === pin.version
        ? `has version ${pin.version} with other files`
        : `has version ${plugin.version} instead of ${pin.version}`;
    throw ApplicationFailure.nonRetryable(
      `plugin ${name} ${change}: it has changed since the operation was planned. When all workers have the same plugin, retry the operation, which is then planned again.`,
      'PluginChanged' satisfies EngineKind,
    );
  }
}
