import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../../../src/config/index.js';

/** The Python environment that `npm run setup:extras` makes, with Apache Libcloud. */
export const venv = join(loadConfig({ cwd: '/' }).cacheFolder, 'libcloud');

/** Why the provider cannot run here; undefined when it can. */
export function libcloudIsMissing(): string | undefined {
  return existsSync(join(venv, '.apache-libcloud-3.9.0'))
    ? undefined
    : 'Apache Libcloud is not installed: npm run setup:extras';
}
