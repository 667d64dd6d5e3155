// @ts-check
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { arch } from 'node:process';
import { join } from 'node:path';
import { cacheFolder, say } from './environment.mjs';
import { runProgram } from './run-program.mjs';

/**
 * The releases of Node that the package is tested with: the oldest allowed, and those with long-term support.
 */
export const nodeReleases = ['20.19.0', '22.23.3', '24.22.3'];

/** The program of a release. @param {string} release */
export function nodeProgram(release) {
  return join(releaseFolder(release), 'node_modules', packageName, 'bin', 'node');
}

const packageName = `node-linux-${arch}`;

/** @param {string} release */
function releaseFolder(release) {
  return join(cacheFolder(), 'node', release);
}

/** Installs the releases from the npm registry: 120 MB each. */
export async function getNodeReleases() {
  for (const release of nodeReleases.filter((each) => !existsSync(nodeProgram(each)))) {
    const folder = releaseFolder(release);
    const fresh = `${folder}.new`;
    say(`installs Node ${release} from the npm registry into ${folder}`);
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh, { recursive: true });
    const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
    await runProgram('npm', [...words, '--prefix', fresh, `${packageName}@${release}`], {
      cwd: fresh,
      limitMs: 600_000,
    });
    for (const unused of ['include', 'share', 'CHANGELOG.md'])
      await rm(join(fresh, 'node_modules', packageName, unused), { recursive: true, force: true });
    await rename(fresh, folder);
  }
}
