import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Addresses } from './addresses.js';
import { messageOf } from './errors.js';
import { makePrivateFolder } from './files.js';
import { newHostKey } from './host-key.js';
import { directoryKind } from './kinds/directory.js';
import type { Kind } from './kinds/kind.js';
import { findSshd, sandboxKind } from './kinds/sandbox.js';
import type { Library } from './image/library.js';
import type { Logger } from 'pino';
import type { KindName, MachineRecord } from './machine.js';

export interface KindChoice {
  /** The kind of new machines. */
  readonly chosen: Kind;
  /** All kinds that work here, for machines that exist. */
  readonly working: ReadonlyMap<KindName, Kind>;
  /** The SSH server of new machines, for people. */
  readonly sshServer: string;
}

export interface KindQuestion {
  readonly wanted: KindName | 'auto';
  /** A path, `none`, or undefined: look for it. */
  readonly sshd: string | undefined;
  readonly dataFolder: string;
  readonly markerStart: string;
  readonly library: Library;
}

/**
 * Boots a sandbox to see whether that works here. @throws Error if sandboxes are required and do not work.
 */
export async function chooseKind(
  question: KindQuestion,
  addresses: Addresses,
  log: Logger,
): Promise<KindChoice> {
  const directory = directoryKind(question.markerStart, question.library);
  const onlyDirectories = {
    chosen: directory,
    working: new Map([['directory', directory]] as const),
    sshServer: 'ssh2',
  };
  if (question.wanted === 'directory') return onlyDirectories;
  let reason = plainObstacle();
  for (const sshd of reason === undefined ? sshdsToTry(question.sshd) : []) {
    const kind = sandboxKind({
      markerStart: question.markerStart,
      dataFolder: question.dataFolder,
      library: question.library,
      sshd,
    });
    reason = await tryKind(kind, question.dataFolder, addresses);
    if (reason === undefined)
      return {
        chosen: kind,
        working: new Map([
          ['directory', directory],
          ['sandbox', kind],
        ]),
        sshServer: sshd ?? 'ssh2',
      };
    if (sshd !== undefined) log.warn(`sandboxes with ${sshd} do not work here: ${reason}`);
  }
  if (question.wanted === 'sandbox') {
    throw new Error(
      `Sandboxes need Linux, root, and the right to mount, and do not work here: ${reason}. Use --kind directory.`,
    );
  }
  log.info(`machines are directories, for sandboxes do not work here: ${reason}`);
  return onlyDirectories;
}

function plainObstacle(): string | undefined {
  if (process.platform !== 'linux') return 'this is not Linux';
  return process.getuid?.() === 0 ? undefined : 'the service does not run as root';
}

/** OpenSSH first, where there is one; then our own server. */
function sshdsToTry(given: string | undefined): readonly (string | undefined)[] {
  if (given === 'none') return [undefined];
  const path = given ?? findSshd();
  return path === undefined ? [undefined] : [path, undefined];
}

/** Undefined when it works, else why it does not. */
async function tryKind(kind: Kind, dataFolder: string, addresses: Addresses): Promise<string | undefined> {
  const folder = join(dataFolder, 'trial');
  await rm(folder, { recursive: true, force: true });
  makePrivateFolder(folder);
  try {
    const booted = await kind.boot(trialMachine(kind, addresses), folder);
    await booted.halt();
    return undefined;
  } catch (error) {
    return messageOf(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** It uses the block's last address, which machines get last. */
function trialMachine(kind: Kind, addresses: Addresses): MachineRecord {
  return {
    ...addresses.last(),
    id: 'trial',
    token: '',
    requestDigest: '',
    key: 'trial',
    hostname: 'trial',
    flavor: 'tiny',
    image: 'host',
    tags: {},
    publicKeys: [],
    kind: kind.name,
    state: 'booting',
    user: kind.user,
    password: randomBytes(18).toString('base64url'),
    hostKey: newHostKey(),
    createdAt: new Date().toISOString(),
    faults: {},
  };
}
