import type { ClusterStatus } from '../../schema/output/status.js';
import { suggest } from '../../schema/suggest.js';
import { cleanLine } from '../clean-text.js';
import { CliError } from '../errors.js';

/** Options of commands that select nodes of a cluster: those that fit all that is given, or all of them. */
export interface NodeOptions {
  readonly nodes?: readonly string[] | undefined;
  /** Nodes with one of these. */
  readonly services?: readonly string[] | undefined;
  readonly groups?: readonly string[] | undefined;
}

export interface NodeSelection extends NodeOptions {
  /** The only one. */
  readonly node?: string | undefined;
}

/**
 * Ids of the selected nodes, in the order of the cluster.
 * @throws CliError NotFound for a name that the cluster does not have, or if no node fits.
 */
export function selectNodes(
  status: Pick<ClusterStatus, 'name' | 'nodes' | 'services'>,
  selection: NodeSelection,
): readonly string[] {
  const { name, nodes, services } = status;
  const known = {
    nodes: nodes.map(({ nodeId }) => nodeId),
    groups: [...new Set(nodes.map(({ group }) => group))],
    services: Object.keys(services),
  };
  for (const [noun, of] of [
    ['node', 'nodes'],
    ['group', 'groups'],
    ['service', 'services'],
  ] as const) {
    const words = [
      ...(selection[of] ?? []),
      ...(of === 'nodes' ? [selection.node].flatMap((one) => one ?? []) : []),
    ];
    const unknown = words.find((one) => !known[of].includes(one));
    if (unknown === undefined) continue;
    const hint = suggest(unknown, known[of]);
    throw new CliError(
      'NotFound',
      `cluster ${name} has no ${noun} ${cleanLine(unknown)}${hint === undefined ? '' : `. ${hint}`}`,
      { next: `heddle nodes ${name}` },
    );
  }
  const selected = fittingNodes(status, selection);
  if (selected.length > 0) return selected;
  throw new CliError('NotFound', `cluster ${name} has no node that fits ${describeSelection(selection)}`, {
    next: `heddle nodes ${name}`,
  });
}

/** The same, which may be none. */
export function fittingNodes(
  { nodes }: Pick<ClusterStatus, 'nodes'>,
  selection: NodeSelection,
): readonly string[] {
  return nodes.filter((node) => fits(node, selection)).map(({ nodeId }) => nodeId);
}

function fits(
  node: { readonly nodeId: string; readonly group: string; readonly services: readonly string[] },
  { nodes, groups, services, node: only }: NodeSelection,
): boolean {
  return (
    (only === undefined || only === node.nodeId) &&
    (nodes === undefined || nodes.includes(node.nodeId)) &&
    (groups === undefined || groups.includes(node.group)) &&
    (services === undefined || services.some((service) => node.services.includes(service)))
  );
}

/** `--nodes a-1,a-2 and --groups b`. */
export function describeSelection({ nodes, groups, services, node }: NodeSelection): string {
  const options = Object.entries({ nodes, services, groups }).flatMap(([of, names]) =>
    names === undefined ? [] : [`--${of} ${cleanLine(names.join(','))}`],
  );
  return [...(node === undefined ? [] : [cleanLine(node)]), ...options].join(' and ');
}
