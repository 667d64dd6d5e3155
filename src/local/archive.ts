import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { childEnvironment } from '../config/child-environment.js';

/** What is deleted of the host is a mark of the overlay, in attributes that only GNU tar keeps. */
const attributes = process.platform === 'linux' ? ['--xattrs', '--xattrs-include=*', '--numeric-owner'] : [];

/** Parts of a folder as a tar archive, while it is being made. */
export function packFolder(folder: string, parts: readonly string[]): Readable {
  const tar = spawn('tar', [...attributes, '-C', folder, '-cf', '-', ...parts], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: childEnvironment(),
  });
  let said = '';
  tar.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-2_000);
  });
  tar.on('error', (cause) => tar.stdout.destroy(cause));
  // An archive that is cut must not look like a whole one.
  tar.on('exit', (code) => {
    if (code !== 0) tar.stdout.destroy(new Error(`tar ended with ${code}: ${said}`));
  });
  return tar.stdout;
}

/** Unpacks a tar archive, compressed by gzip or not, as it comes. @throws Error with what tar said. */
export async function unpackInto(folder: string, archive: Readable, isCompressed: boolean): Promise<void> {
  const tar = spawn('tar', [...attributes, ...(isCompressed ? ['-z'] : []), '-C', folder, '-xf', '-'], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: childEnvironment(),
  });
  let said = '';
  tar.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-2_000);
  });
  const ended = once(tar, 'close') as Promise<[number | null]>;
  // tar may end before it has read all; what it says is the reason then.
  await Promise.all([pipeline(archive, tar.stdin).catch(() => undefined), ended]);
  const [code] = await ended;
  if (code !== 0)
    throw new Error(`it is no archive that tar can unpack: ${said.trim().split('\n').at(-1) ?? code}`);
}
