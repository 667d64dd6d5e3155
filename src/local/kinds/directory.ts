import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { Library } from '../image/library.js';
import type { MachineRecord } from '../machine.js';
import { killMarked, markerVariable } from '../processes.js';
import type { Launcher } from '../ssh/launch.js';
import { listenForSsh, makeDisk, writeAuthorizedKeys, type Booted, type Kind } from './kind.js';

export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const shells = ['/bin/bash', '/bin/sh'] as const;

/**
 * A machine as a folder: commands run as the service's user with the folder as home. Works on every system.
 */
export function directoryKind(markerStart: string, library: Library): Kind {
  const user = userInfo().username;
  const build: Kind['build'] = (machine, folder) =>
    makeDisk(folder, async (disk) => {
      await library.copyTo(disk, machine.image, 'directory');
      writeAuthorizedKeys(disk, machine.publicKeys);
    });
  return {
    name: 'directory',
    user,
    build,
    boot: async (machine, folder) => boot(machine, await build(machine, folder), markerStart),
  };
}

async function boot(machine: MachineRecord, home: string, markerStart: string): Promise<Booted> {
  const marker = `${markerStart}/${machine.id}`;
  mkdirSync(claimsOf(home), { recursive: true, mode: 0o700 });
  const server = await listenForSsh(
    machine,
    home,
    launcherOf({ machine, home, marker, bootId: randomUUID() }),
  );
  return {
    port: server.port,
    died: new Promise(() => undefined),
    halt: async () => {
      server.close();
      if (server.ranCommands) await killMarked(marker, home);
    },
  };
}

/** Beside the home, which scripts may empty; goes with the machine. */
function claimsOf(home: string): string {
  return join(dirname(home), 'claims');
}

interface DirectoryBoot {
  readonly machine: MachineRecord;
  readonly home: string;
  readonly marker: string;
  readonly bootId: string;
}

function launcherOf({ machine, home, marker, bootId }: DirectoryBoot): Launcher {
  return {
    prefix: [],
    cwd: home,
    environment: {
      HOME: home,
      USER: machine.user,
      LOGNAME: machine.user,
      SHELL: loginShell(),
      LANG: 'C.UTF-8',
      // The service's own Node comes last, so that scripts find one even where none is installed.
      PATH: `${systemPath}:/opt/homebrew/bin:${dirname(process.execPath)}`,
      HOSTNAME: machine.hostname,
      // It shares process 1 with the host, so nothing else shows that it booted again.
      MACHINE_BOOT_ID: bootId,
      // It shares /var/tmp with the host.
      MACHINE_CLAIMS: claimsOf(home),
      [markerVariable]: marker,
    },
  };
}

export function loginShell(): string {
  return shells.find((path) => existsSync(path)) ?? '/bin/sh';
}
