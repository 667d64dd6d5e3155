import { accessSync, chmodSync, constants, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const places = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Where a command lies on this machine; undefined when it is not installed. */
export function findCommand(name: string): string | undefined {
  return places
    .map((place) => join(place, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/**
 * What a node's commands are made of when it has only those: `sh` may be another shell than this machine's.
 */
export function makeBin(folder: string, commands: Readonly<Record<string, string | undefined>>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, path] of Object.entries(commands))
    if (path !== undefined) symlinkSync(path, join(folder, name));
  return folder;
}

export const posixCommands = [
  'cat',
  'chmod',
  'dd',
  'head',
  'ls',
  'mkdir',
  'mv',
  'ps',
  'rm',
  'sleep',
  'sync',
  'touch',
  'tr',
];

export function commandsOf(names: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(names.map((name) => [name, findCommand(name)]));
}

/** A command of the node that does something else first; the folder comes first in the node's PATH. */
export function writeCommand(folder: string, name: string, text: string): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}
