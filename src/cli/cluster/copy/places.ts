import { posix } from 'node:path';
import { CliError } from '../../errors.js';

/** A path on a node. */
export interface NodePlace {
  readonly cluster: string;
  readonly node: string;
  readonly path: string;
}

export interface Copy {
  readonly direction: 'from node' | 'to node';
  readonly place: NodePlace;
  /** The path on this computer. */
  readonly local: string;
}

const next = 'heddle cp --help';

/**
 * `web:app-1:/path` is on a node; a local path with colons begins with `./` or `/`.
 * @throws CliError Usage unless exactly one is on a node.
 */
export function readCopy(source: string, target: string): Copy {
  const [from, to] = [placeOf(source), placeOf(target)];
  if (typeof from === 'string' && typeof to !== 'string')
    return { direction: 'to node', place: to, local: from };
  if (typeof from !== 'string' && typeof to === 'string')
    return { direction: 'from node', place: from, local: to };
  throw new CliError(
    'Usage',
    typeof from === 'string'
      ? 'neither is on a node; write one as CLUSTER:NODE:PATH'
      : 'both are on nodes; copy to this computer first',
    { next },
  );
}

function placeOf(text: string): string | NodePlace {
  const found = /^([a-z0-9][a-z0-9-]*):([a-z0-9][a-z0-9-]*):(.*)$/is.exec(text);
  if (text === '') throw new CliError('Usage', 'a path is empty', { next });
  if (found === null) return text;
  const [, cluster = '', node = '', path = ''] = found;
  // As with scp: the home of the login user.
  return { cluster, node, path: path === '' ? '.' : path };
}

export function textOfPlace({ cluster, node, path }: NodePlace): string {
  return `${cluster}:${node}:${path}`;
}

/**
 * The name that a copy gets in a folder; `.` where only the content is meant: `data/.`, `.`, `..` and `/`.
 */
export function nameOf(path: string): string {
  if (/(^|\/)\.\.?\/*$/.test(path)) return '.';
  return posix.basename(path) || '.';
}
