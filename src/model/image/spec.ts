import { defaultRepair } from '../cluster/default-repair.js';
import type { ClusterSpec } from '../cluster/spec.js';
import type { ImageSpec } from '../../schema/image/spec.js';
import { accountOfNode } from './account-of-node.js';

export type { ImageSpec };

/** How a machine made from the image is tested before the image is offered. */
export type Validation = Exclude<ImageSpec['validate'], false>;
/** A command of the builders' configuration that creates files. */
export type CommandSource = NonNullable<ImageSpec['command']> & { readonly kind: 'command' };

/** A machine from a base image, services carried out on it, and a capture. */
export interface RecipeSource {
  readonly kind: 'recipe';
  /** One group, `build`, of one node: what a cluster of it would be. */
  readonly cluster: ClusterSpec;
  /**
   * The existing node to capture; absent: a machine is created. Account, hardware and base image of the group
   * are then the node's.
   */
  readonly from?: NodeRef;
  /** The automator that prepares the system for the capture; null for a resource without a system. */
  readonly system: string | null;
}

/** A node of a cluster or of a pool. */
export interface NodeRef {
  readonly of: 'cluster' | 'pool';
  /** Of the cluster, or of the pool. */
  readonly name: string;
  readonly node: string;
}

/** The group of a recipe's cluster. */
export const recipeGroup = 'build';

const emptyRecipe: NonNullable<ImageSpec['recipe']> = { services: [], system: 'none' };

export function sourceOf({ name, recipe, services, command }: ImageSpec): RecipeSource | CommandSource {
  if (command !== undefined) return { ...command, kind: 'command' };
  const { from, system, services: names, ...own } = recipe ?? emptyRecipe;
  // A recipe of an existing node omits what the node determines.
  const left = from === undefined ? 'default' : accountOfNode;
  const {
    provider = from === undefined ? '' : accountOfNode,
    hardware = left,
    image = left,
    fields = {},
  } = own;
  const group = { count: 1, provider, hardware, image, fields, services: names };
  return {
    kind: 'recipe',
    cluster: {
      name,
      nodes: { [recipeGroup]: group },
      services,
      config: {},
      onFailure: 'hold',
      repair: defaultRepair,
    },
    from: from === undefined ? undefined : nodeOf(from),
    system: system === 'none' ? null : system,
  };
}

function nodeOf({
  cluster,
  pool = '',
  node,
}: NonNullable<NonNullable<ImageSpec['recipe']>['from']>): NodeRef {
  return cluster === undefined ? { of: 'pool', name: pool, node } : { of: 'cluster', name: cluster, node };
}

/** The image that a recipe begins with, for people. */
export function describeSource(spec: ImageSpec): string {
  const source = sourceOf(spec);
  if (source.kind === 'command') return `command ${source.run}`;
  const group = source.cluster.nodes[recipeGroup];
  if (source.from !== undefined)
    return `${describeNode(source.from)}, with ${group?.services.join(', ') || 'no services'}`;
  return `${group?.image ?? '?'} of ${group?.provider ?? '?'} with ${group?.services.join(', ') || 'no services'}`;
}

export function describeNode({ of, name, node }: NodeRef): string {
  return `node ${node} of ${of} ${name}`;
}
