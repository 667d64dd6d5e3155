import type { GrantedNode, RequestView } from '../../schema/output/pool.js';
import { stripSecrets } from '../../model/node/strip-secrets.js';
import type { Output } from '../output.js';
import { formatDuration } from '../format.js';

export function printRequest(output: Output, request: RequestView, pool: string): void {
  output.line(
    `request ${request.id}: ${request.state}${whyOf(request) === '-' ? '' : ` (${whyOf(request)})`}`,
  );
  if (request.nodes === undefined) return;
  output.table(['NODE', 'LABEL', 'ADDRESS', 'PORT', 'USER'], request.nodes.map(nodeRow));
  printLease(output, request);
  output.line(`next: heddle request return ${pool} ${request.id}`);
}

/** Nodes first, one a line; then what has none. */
export function printRequests(
  output: Output,
  pool: string,
  requests: readonly RequestView[],
  requester: string | undefined,
): void {
  const granted = requests.filter(({ nodes }) => nodes !== undefined);
  const others = requests.filter(({ nodes }) => nodes === undefined);
  if (granted.length > 0) {
    output.table(
      ['REQUEST', 'NODE', 'LABEL', 'ADDRESS', 'PORT', 'USER'],
      granted.flatMap(({ id, nodes = [] }) => nodes.map((node) => [id, ...nodeRow(node)])),
    );
  }
  if (granted.length > 0 && others.length > 0) output.line();
  if (others.length > 0)
    output.table(
      ['REQUEST', 'STATE', 'WHY'],
      others.map((request) => [request.id, request.state, whyOf(request)]),
    );
  output.line(`${requests.length} requests: ${countStates(requests)}`);
  const [first] = granted;
  if (first !== undefined) printLease(output, first);
  if (others.some(({ state }) => state !== 'failed')) return output.line(`next: heddle request list ${pool}`);
  // Only what needs no quotes is put into a command.
  if (granted.length > 0)
    output.line(
      `next: heddle request return ${pool} ${requester !== undefined && /^[\w@.-]+$/.test(requester) ? `--requester ${requester}` : 'ID...'}`,
    );
}

/** `38 fulfilled, 2 failed`. */
export function countStates(requests: readonly RequestView[]): string {
  const counts = new Map<string, number>();
  for (const { state } of requests) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
}

export function whyOf({ declined = {}, waits, state, lastFailure }: RequestView): string {
  const refusals = Object.entries(declined)
    .map(([providerPool, why]) => `${providerPool}: ${why}`)
    .join('; ');
  if (state === 'failed' && refusals !== '') return refusals;
  return [...new Set([waits, lastFailure])].filter((why) => why !== undefined).join('; ') || '-';
}

export function withoutSecrets(request: RequestView): RequestView {
  if (request.nodes === undefined) return request;
  return {
    ...request,
    nodes: request.nodes.map((node): GrantedNode => ({ ...node, payload: stripSecrets(node.payload) })),
  };
}

function printLease(output: Output, { expiresAt }: RequestView): void {
  if (expiresAt !== undefined) output.line(`lease: ${formatDuration(expiresAt - Date.now())} left`);
}

/** A node that was deleted, or whose hold ended, no longer belongs to the request. */
export function nodeName({ id, lost }: GrantedNode): string {
  return lost === true ? `${id} (lost)` : id;
}

function nodeRow(node: GrantedNode): readonly string[] {
  const { label, payload } = node;
  const auth = payload['ssh-auth'];
  const user = typeof auth === 'object' && auth !== null && 'user' in auth ? auth.user : undefined;
  return [nodeName(node), label, textOf(payload['ipaddress']), textOf(payload['ssh-port']), textOf(user)];
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '-';
}
