// @ts-check
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, isMain, runMain, say } from './environment.mjs';

/** A Debian system with an SSH server as one archive, of which the tests of containers make their image. */
export function nodeImageFile() {
  return join(cacheFolder(), 'node-image.tar');
}

/** Makes the archive where it is not there yet, from the package source that this system uses itself. */
export function makeNodeImage() {
  const file = nodeImageFile();
  if (existsSync(file)) return say(`the image of the container tests is there: ${file}`);
  say(
    `makes the image of the container tests, a Debian with an SSH server, into ${file}: 240 MB, about a minute`,
  );
  const { uri, codename } = packageSource();
  const folder = mkdtempSync(join(cacheFolder(), 'node-image-'));
  try {
    run([
      'debootstrap',
      '--variant=minbase',
      '--include=openssh-server',
      codename,
      join(folder, 'root'),
      uri,
    ]);
    // Every container is to make, or to be given, host keys of its own.
    run([
      'sh',
      '-ec',
      'rm -f "$1"/root/etc/ssh/ssh_host_* "$1"/root/var/cache/apt/archives/*.deb && mkdir -p "$1"/root/run/sshd && tar -C "$1"/root -cf "$1"/image.tar .',
      'sh',
      folder,
    ]);
    renameSync(join(folder, 'image.tar'), file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function packageSource() {
  const { stdout } = spawnSync(
    'apt-get',
    ['indextargets', '--format', '$(REPO_URI) $(CODENAME)', 'Created-By: Packages'],
    { encoding: 'utf8' },
  );
  const [uri, codename] =
    stdout
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, name]) => name !== undefined && !name.includes('-')) ?? [];
  if (uri === undefined || codename === undefined)
    throw new Error(
      'apt-get names no package source of the system: the image of the container tests cannot be made',
    );
  return { uri, codename };
}

/** @param {string[]} words */
function run([program = '', ...words]) {
  const { status, error, stderr } = spawnSync(program, words, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.slice(-1_000)}`);
}

if (isMain(import.meta.url)) await runMain(async () => makeNodeImage());
