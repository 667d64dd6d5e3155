import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../../../src/config/index.js';
import { podmanIsMissing, startPodman, type Podman } from '../../../providers/docker/support/podman.js';

const installed = join(loadConfig({ cwd: '/' }).cacheFolder, 'podman-compose', 'bin', 'podman-compose');

/** Why no compose file can be run here; undefined when one can. */
export function composeIsMissing(): string | undefined {
  return (
    podmanIsMissing() ??
    (existsSync(installed) ? undefined : 'podman-compose is not installed: npm run setup:extras')
  );
}

export interface PodmanCompose {
  readonly podman: Podman;
  /** The administrator's fields. */
  readonly admin: { readonly program: string; readonly engine: string };
}

/** A podman-compose for containers of a test's own. */
export async function startPodmanCompose(): Promise<PodmanCompose> {
  const podman = await startPodman();
  const program = join(podman.folder, 'podman-compose');
  writeFileSync(program, `#!/bin/sh\nexec '${installed}' --podman-path '${podman.command}' "$@"\n`, {
    mode: 0o755,
  });
  return { podman, admin: { program, engine: podman.command } };
}
