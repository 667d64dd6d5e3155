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

export interface KindOptions {
  readonly requested: KindName | 'auto';
  /** A path, `none`, or undefined: search the usual places. */
  readonly sshd: string | undefined;
  readonly dataFolder: string;
  readonly markerStart: string;
  readonly library: Library;
}

/**
 * Boots a sandbox to see whether that works here.
 * @throws Error if sandboxes are required and do not work.
 */
export async function chooseKind(
  { requested, sshd: givenSshd, ...options }: KindOptions,
  addresses: Addresses,
  log: Logger,
): Promise<KindChoice> {
  const directory = directoryKind(options.markerStart, options.library);
  const working = new Map<KindName, Kind>([['directory', directory]]);
  if (requested === 'directory') return { chosen: directory, working, sshServer: 'ssh2' };
  let reason = process.platform === 'linux' ? undefined : 'this is not Linux';
  if (process.getuid?.() !== 0) reason ??= 'the service does not run as root';
  for (const sshd of reason === undefined ? sshdsToTry(givenSshd) : []) {
    const chosen = sandboxKind({ ...options, sshd });
    reason = await tryKind(chosen, options.dataFolder, addresses);
    if (reason === undefined)
      return { chosen, working: working.set('sandbox', chosen), sshServer: sshd ?? 'ssh2' };
    if (sshd !== undefined) log.warn(`sandboxes with ${sshd} do not work here: ${reason}`);
  }
  if (requested === 'sandbox')
    throw new Error(
      `Sandboxes need Linux, root, and the right to mount, and do not work here: ${reason}. Use --kind directory.`,
    );
  log.info(`machines are directories, because sandboxes do not work here: ${reason}`);
  return { chosen: directory, working, sshServer: 'ssh2' };
}

/** OpenSSH first, if installed; then our own server. */
function sshdsToTry(given: string | undefined): readonly (string | undefined)[] {
  const path = given === 'none' ? undefined : (given ?? findSshd());
  return path === undefined ? [undefined] : [path, undefined];
}

/** @returns why the kind does not work; undefined if it does. */
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
