import type { JsonObject } from '../json.js';
import type { ClusterSpec } from '../cluster/spec.js';

/**
 * How an image is made, where it goes, and how many of its builds are kept: checked, defaults filled in,
 * files inlined.
 */
export interface ImageSpec {
  readonly name: string;
  readonly source: RecipeSource | CommandSource;
  /** Provider accounts that get it as a file, beside the one that a recipe is captured at. */
  readonly uploads: readonly UploadTarget[];
  /** Absent: it is offered without having been booted. */
  readonly validate?: Validation;
  /** Ready builds that stay; older ones are deleted. */
  readonly keep: number;
  /**
   * It is built by itself when there is no ready build, and when the newest is older; absent: only on
   * request.
   */
  readonly rebuildAgeMs?: number;
}

/** A machine from a base image, services carried out on it, and a capture. */
export interface RecipeSource {
  readonly kind: 'recipe';
  /** One group, `build`, of one node: what a cluster of it would be. */
  readonly cluster: ClusterSpec;
  /**
   * The node that it is made of, as it stands; absent: a machine is made for it. The group's account, size
   * and base are the node's then.
   */
  readonly from?: NodeRef;
  /** The automator that has the system's part in the capture; null for a resource that has no system. */
  readonly system: string | null;
}

/** A node of a cluster or of a pool. */
export interface NodeRef {
  readonly of: 'cluster' | 'pool';
  /** Of the cluster, or of the pool. */
  readonly name: string;
  readonly node: string;
}

/** A command that the administrator of the builders named, and that makes files. */
export interface CommandSource {
  readonly kind: 'command';
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
  /** One file of each. */
  readonly formats: readonly string[];
  readonly timeoutMs?: number;
  /** The site whose builders make it. */
  readonly site: string;
}

export interface UploadTarget {
  readonly provider: string;
  readonly format: string;
}

/** A machine is made from the image; it must boot, answer, and pass the command. */
export interface Validation {
  readonly provider: string;
  readonly hardware: string;
  readonly fields: JsonObject;
  readonly command?: string;
  readonly withinMs: number;
}

/**
 * Stands for what only the node tells: the account, the size and the base of a recipe that begins with a
 * node.
 */
export const accountOfNode = 'of-the-node';

/** The group of a recipe's cluster. */
export const recipeGroup = 'build';

/** The image that a recipe begins with, for people. */
export function describeSource(source: ImageSpec['source']): string {
  if (source.kind === 'command') return `command ${source.command}`;
  const group = source.cluster.groups[recipeGroup];
  if (source.from !== undefined)
    return `${describeNode(source.from)}, with ${group?.services.join(', ') || 'no services'}`;
  return `${group?.image ?? '?'} of ${group?.provider ?? '?'} with ${group?.services.join(', ') || 'no services'}`;
}

export function describeNode({ of, name, node }: NodeRef): string {
  return `node ${node} of ${of} ${name}`;
}
