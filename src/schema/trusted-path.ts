import { accessSync, constants, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { hasErrorCode } from '../model/system-error.js';

/**
 * Why a path is not trusted, as the predicate of a sentence with the path as its subject, and how to fix it.
 */
export interface Distrust {
  readonly path: string;
  readonly wrong: string;
  readonly right: string;
  /** The user that owns it, if the owner is the reason. */
  readonly owner?: number;
  /** It does not exist, but another user could create it. */
  readonly isAbsent?: boolean;
}

/** As text for a message. */
export function describeDistrust({ path, wrong, right }: Distrust): string {
  return `${path} ${wrong}; ${right}`;
}

/**
 * The owner check: why this process must not trust a file or folder. A user other than its own
 * and root owns it or can write it, or can replace or create it through a folder or link of its
 * path. Undefined on systems without numeric owners.
 * @param trusted folders that are known to be trusted, so that each is checked once for many files.
 */
export function whyUntrusted(path: string, trusted = new Set<string>()): Distrust | undefined {
  if (process.getuid === undefined) return undefined;
  const { folders, links, file, absent } = followPath(path, trusted);
  const distrust =
    (file === undefined ? undefined : whyFileUntrusted(file)) ??
    firstOf(links, ({ path: link, stat }) => foreignOwner(link, stat, 'Specify the target of the link')) ??
    firstOf(folders, whyFolderUntrusted);
  if (distrust !== undefined) return distrust;
  for (const folder of folders) trusted.add(folder.path);
  return absent === undefined ? undefined : whyCreatable(absent);
}

interface Step {
  readonly path: string;
  readonly stat: Stats;
}

interface Way {
  /** Folders on the path, the last one first, without trusted folders. */
  readonly folders: readonly Step[];
  readonly links: readonly Step[];
  /** The target of the path; undefined if it does not exist. */
  readonly file?: Step;
  /** The first part of the path that is absent, or cannot be reached. */
  readonly absent?: string;
}

/** Linux treats more links in a path as a loop. */
const maxLinks = 40;

/**
 * Resolves a path name by name, as the system does: replaces each link by its target, relative
 * to the link's folder.
 */
function followPath(path: string, trusted: ReadonlySet<string>): Way {
  const names = namesOf(isAbsolute(path) ? path : `${process.cwd()}/${path}`);
  const folders: Step[] = [];
  const links: Step[] = [];
  let at = '/';
  for (;;) {
    const isLast = names.length === 0;
    const stat = !isLast && trusted.has(at) ? undefined : find(at);
    if (stat === undefined && !trusted.has(at)) return { folders, links, absent: at };
    if (stat?.isSymbolicLink() === true) {
      links.unshift({ path: at, stat });
      if (links.length > maxLinks) return { folders, links };
      const target = readlinkSync(at);
      names.unshift(...namesOf(target));
      at = isAbsolute(target) ? '/' : dirname(at);
      continue;
    }
    if (isLast) return { folders, links, file: stat && { path: at, stat } };
    if (stat !== undefined) folders.unshift({ path: at, stat });
    const name = names.shift() ?? '';
    at = name === '..' ? dirname(at) : join(at, name);
  }
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** A path that cannot be reached counts as absent: its use fails. */
function find(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function firstOf(steps: readonly Step[], judge: (step: Step) => Distrust | undefined): Distrust | undefined {
  for (const step of steps) {
    const distrust = judge(step);
    if (distrust !== undefined) return distrust;
  }
  return undefined;
}

function whyFileUntrusted({ path, stat }: Step): Distrust | undefined {
  const own = process.getuid?.() ?? 0;
  // The mode of a socket controls who may connect.
  return (
    foreignOwner(path, stat, `If you trust it: chown '${own}' '${path}'`) ??
    (stat.isSocket() ? undefined : writableByOthers(path, stat))
  );
}

/** The sticky bit, as of /tmp, prevents other users from replacing files, but not the owner of the folder. */
function whyFolderUntrusted({ path, stat }: Step): Distrust | undefined {
  return (
    foreignOwner(path, stat, `Move the file to another folder, or run as user ${stat.uid}`) ??
    (isSticky(stat) ? undefined : writableByOthers(path, stat))
  );
}

/** For an absent path with trusted folders: only a folder with the sticky bit lets other users create it. */
function whyCreatable(path: string): Distrust | undefined {
  const folder = dirname(path);
  const stat = find(folder);
  if (stat === undefined || writableByOthers(folder, stat) === undefined) return undefined;
  return {
    path,
    wrong: 'does not exist, and other users could create it',
    right: `Create it, or specify a file outside of ${folder}`,
    isAbsent: true,
  };
}

function foreignOwner(path: string, { uid }: Stats, right: string): Distrust | undefined {
  const own = process.getuid?.() ?? 0;
  if (uid === own || uid === 0) return undefined;
  return { path, wrong: `belongs to user ${uid}, neither to user ${own} nor to root`, right, owner: uid };
}

/** The group of macOS's administrators, who can become root with sudo; it owns Homebrew's folders. */
const macAdmins = 80;

/**
 * A group with the number of the owner is the owner's private group, which most Linux systems
 * create for each user.
 */
function writableByOthers(path: string, stat: Stats): Distrust | undefined {
  const { mode, uid, gid } = stat;
  const isTrusted = gid === uid || (process.platform === 'darwin' && gid === macAdmins);
  const byGroup = (mode & 0o020) !== 0 && !isTrusted;
  if ((!byGroup && (mode & 0o002) === 0) || isReadOnly(path)) return undefined;
  return {
    path,
    wrong: `may be written by other users (mode ${(mode & 0o7777).toString(8)})`,
    // Other programs may depend on the mode of a folder with the sticky bit.
    right: isSticky(stat) ? 'Specify another folder' : `chmod go-w '${path}'`,
  };
}

function isSticky({ mode }: Stats): boolean {
  return (mode & 0o1000) !== 0;
}

/** Whether its file system is mounted read-only, as Kubernetes mounts ConfigMaps: no user can write it. */
function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return hasErrorCode(error, 'EROFS');
  }
}

/** Why a folder is not private to this user: owned by it, and closed to others. Undefined if it is. */
export function whyNotPrivate(
  path: string,
  { uid, mode }: Pick<Stats, 'uid' | 'mode'>,
): Distrust | undefined {
  const own = process.getuid?.();
  if (own === undefined) return undefined;
  if (uid !== own)
    return {
      path,
      wrong: `belongs to user ${uid}, not to user ${own}`,
      right: 'Specify another folder, or run as its owner.',
    };
  return whyOpen(path, { mode });
}

/**
 * Why a file or folder is not closed to other users; undefined if it is, and on systems without these modes.
 */
export function whyOpen(path: string, { mode }: Pick<Stats, 'mode'>): Distrust | undefined {
  if (process.getuid === undefined || (mode & 0o077) === 0) return undefined;
  return {
    path,
    wrong: `is accessible to other users (mode ${(mode & 0o777).toString(8)})`,
    right: `chmod go= '${path}'`,
  };
}
