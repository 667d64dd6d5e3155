import { accessSync, constants, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

/** What is wrong with a path, as the end of a sentence that begins with it, and what to do. */
export interface Distrust {
  readonly path: string;
  readonly wrong: string;
  readonly right: string;
  /** The user that owns it, where that is what is wrong. */
  readonly owner?: number;
  /** Nothing is there now, but another user could create it. */
  readonly isAbsent?: boolean;
}

/** In words, for a message. */
export function describeDistrust({ path, wrong, right }: Distrust): string {
  return `${path} ${wrong}; ${right}`;
}

/**
 * The owner check. Why a file or folder must not decide what this process does: another user than ours or root owns
 * it or may write it, or can replace or create it by a folder or link on the way to it. Undefined on systems without
 * such owners.
 * @param trusted folders that were found trusted, so that each is looked at once for many files.
 */
export function whyUntrusted(path: string, trusted = new Set<string>()): Distrust | undefined {
  if (process.getuid === undefined) return undefined;
  const { folders, links, file, absent } = followPath(path, trusted);
  const distrust =
    (file === undefined ? undefined : whyFileUntrusted(file)) ??
    firstOf(links, ({ path: link, stat }) => foreignOwner(link, stat, 'Name the file itself')) ??
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
  /** Folders and links that are passed, the last one first, without the folders that are trusted. */
  readonly folders: readonly Step[];
  readonly links: readonly Step[];
  /** What the path names; undefined if nothing is there. */
  readonly file?: Step;
  /** The first part of the path that is absent, or cannot be reached. */
  readonly absent?: string;
}

/** More links in a path are a circle for Linux. */
const maxLinks = 40;

/** Follows a path by its names, as the system does: a link is replaced by its target in the folder that holds it. */
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
  // The mode of a socket says who may connect.
  return (
    foreignOwner(path, stat, `If you trust it: chown '${own}' '${path}'`) ??
    (stat.isSocket() ? undefined : writableByOthers(path, stat))
  );
}

/** The sticky bit, as of /tmp, keeps others from replacing foreign files, but not the owner of the folder. */
function whyFolderUntrusted({ path, stat }: Step): Distrust | undefined {
  return (
    foreignOwner(path, stat, `Name a file elsewhere, or run as user ${stat.uid}`) ??
    (isSticky(stat) ? undefined : writableByOthers(path, stat))
  );
}

/** Of an absent path whose folders are trusted: only a folder with the sticky bit lets others create it. */
function whyCreatable(path: string): Distrust | undefined {
  const folder = dirname(path);
  const stat = find(folder);
  if (stat === undefined || writableByOthers(folder, stat) === undefined) return undefined;
  return {
    path,
    wrong: 'does not exist, and other users could create it',
    right: `Create it, or name a file outside of ${folder}`,
    isAbsent: true,
  };
}

function foreignOwner(path: string, { uid }: Stats, right: string): Distrust | undefined {
  const own = process.getuid?.() ?? 0;
  if (uid === own || uid === 0) return undefined;
  return { path, wrong: `belongs to user ${uid}, neither to user ${own} nor to root`, right, owner: uid };
}

/** The group of macOS's administrators, who become root by sudo; Homebrew's folders are theirs. */
const macAdmins = 80;

/**
 * A group with the number of the owner is the owner's private one, as most Linux systems make for each user.
 */
function writableByOthers(path: string, stat: Stats): Distrust | undefined {
  const { mode, uid, gid } = stat;
  const isTrusted = gid === uid || (process.platform === 'darwin' && gid === macAdmins);
  const byGroup = (mode & 0o020) !== 0 && !isTrusted;
  if ((!byGroup && (mode & 0o002) === 0) || isReadOnly(path)) return undefined;
  return {
    path,
    wrong: `may be written by other users (mode ${(mode & 0o7777).toString(8)})`,
    // The whole system may need a folder with the sticky bit.
    right: isSticky(stat) ? 'Name another folder' : `chmod go-w '${path}'`,
  };
}

function isSticky({ mode }: Stats): boolean {
  return (mode & 0o1000) !== 0;
}

/** Whether its file system is mounted read-only, as Kubernetes mounts ConfigMaps: no user may write it. */
function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS';
  }
}

/** Why a folder is not for this user alone; undefined when it is. */
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
      right: 'Name another folder, or run as its owner.',
    };
  if ((mode & 0o077) === 0) return undefined;
  return {
    path,
    wrong: `is open to others (mode ${(mode & 0o777).toString(8)})`,
    right: `chmod 700 '${path}'`,
  };
}
