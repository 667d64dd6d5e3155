import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KindName, MachineRecord } from '../machine.js';
import type { Launcher } from '../ssh/launch.js';
import { SshServer } from '../ssh/server.js';

/** A machine that runs. */
export interface Booted {
  readonly port: number;
  /** Resolves with the reason when it ends by itself; never when it was halted. */
  readonly died: Promise<string>;
  /** Pulls the plug: resolves when none of its processes is left. */
  halt(): Promise<void>;
}

/** A way to make machines. */
export interface Kind {
  readonly name: KindName;
  /**
   * Builds the machine's disk from its image, completely or not at all, unless it exists; returns its folder.
   */
  build(machine: MachineRecord, folder: string): Promise<string>;
  /** The user people log in as. */
  readonly user: string;
  /** Starts the machine on its disk, which is built if absent. @throws Error that says why it cannot boot. */
  boot(machine: MachineRecord, folder: string): Promise<Booted>;
  /** The end of what the machine printed since its last boot; absent: the kind has no consoles. */
  readonly console?: (folder: string) => string;
}

/** Builds a machine's disk completely or not at all; an existing disk stays unchanged. */
export async function makeDisk(folder: string, build: (disk: string) => Promise<void>): Promise<string> {
  const disk = join(folder, 'disk');
  if (existsSync(disk)) return disk;
  const temporary = `${disk}.new`;
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary, { mode: 0o700 });
  await build(temporary);
  renameSync(temporary, disk);
  return disk;
}

/** Serves SSH on the machine's address, with its password and the authorized_keys file of a home folder. */
export function listenForSsh(machine: MachineRecord, home: string, launcher: Launcher): Promise<SshServer> {
  const { address, port, user, password, hostKey } = machine;
  return SshServer.listen({
    address,
    port,
    hostKey: hostKey.private,
    login: { user, password, authorizedKeysFile: authorizedKeysFile(home) },
    launcher,
  });
}

function authorizedKeysFile(home: string): string {
  return join(home, '.ssh', 'authorized_keys');
}

/** Writes the machine's own host keys, replacing those in the image. */
export function writeAuthorizedKeys(home: string, publicKeys: readonly string[]): void {
  rmSync(join(home, '.ssh'), { recursive: true, force: true });
  mkdirSync(join(home, '.ssh'), { mode: 0o700 });
  writeFileSync(authorizedKeysFile(home), publicKeys.map((key) => `${key}\n`).join(''), { mode: 0o600 });
}
