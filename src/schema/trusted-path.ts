import { existsSync, lstatSync, realpathSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';

/** What is wrong with a path, as the end of a sentence that begins with it, and what to do. */
export interface Distrust {
  readonly path: string;
  readonly wrong: string;
  readonly right: string;
}

/** In words, for a message. */
export function describeDistrust({ path, wrong, right }: Distrust): string {
  return `${path} ${wrong}; ${right}`;
}

/**
 * The owner check. Why a file or folder must not decide what this process does: another user than ours or root owns
 * it or may write it, or can replace or create it because a folder above is theirs. A link counts with what it names.
 * Undefined on systems without such owners.
 * @param trusted what was found trusted, so that each file and folder is looked at once for many files.
 */
export function whyUntrusted(path: string, trusted = new Set<string>()): Distrust | undefined {
  if (process.getuid === undefined || trusted.has(path)) return undefined;
  // A dangling link, too: another user could create what it names.
  if (!existsSync(path)) return path === dirname(path) ? undefined : whyUntrusted(dirname(path), trusted);
  const real = realpathSync.native(path);
  for (const one of new Set([path, real])) {
    const stat = lstatSync(one);
    const distrust = foreignOwner(one, stat) ?? (hasOwnMode(stat) ? writableByOthers(one, stat) : undefined);
    if (distrust !== undefined) return distrust;
  }
  const above = [path];
  for (let folder = dirname(real); !trusted.has(folder); folder = dirname(folder)) {
    const stat = lstatSync(folder);
    // The sticky bit, as of /tmp, keeps others from replacing foreign files, but not the owner of the folder.
    const isSticky = (stat.mode & 0o1000) !== 0;
    const distrust = foreignOwner(folder, stat) ?? (isSticky ? undefined : writableByOthers(folder, stat));
    if (distrust !== undefined) return distrust;
    above.push(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of above) trusted.add(folder);
  return undefined;
}

/** The mode of a link says nothing, and that of a socket who may connect to it. */
function hasOwnMode(stat: Stats): boolean {
  return !stat.isSymbolicLink() && !stat.isSocket();
}

function foreignOwner(path: string, { uid }: Stats): Distrust | undefined {
  const own = process.getuid?.() ?? 0;
  if (uid === own || uid === 0) return undefined;
  return {
    path,
    wrong: `belongs to user ${uid}, neither to user ${own} nor to root`,
    right: `If you trust it: chown '${own}' '${path}'`,
  };
}

/** The group of macOS's administrators, who become root by sudo; Homebrew's folders are theirs. */
const macAdmins = 80;

/**
 * A group with the number of the owner is the owner's private one, as most Linux systems make for each user.
 */
function writableByOthers(path: string, { mode, uid, gid }: Stats): Distrust | undefined {
  const isTrusted = gid === uid || (process.platform === 'darwin' && gid === macAdmins);
  const byGroup = (mode & 0o020) !== 0 && !isTrusted;
  if (!byGroup && (mode & 0o002) === 0) return undefined;
  return {
    path,
    wrong: `may be written by other users (mode ${(mode & 0o7777).toString(8)})`,
    right: `chmod go-w '${path}'`,
  };
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
