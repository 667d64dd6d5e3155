import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../../../src/config/index.js';

/** The ansible-playbook that `npm run setup:extras` installs. */
export const ansibleProgram = join(loadConfig().cacheFolder, 'ansible', 'bin', 'ansible-playbook');

/** Why nothing can be played here; undefined when it can. */
export function ansibleIsMissing(): string | undefined {
  return existsSync(ansibleProgram)
    ? undefined
    : `there is no ${ansibleProgram}: npm run setup:extras installs it`;
}
