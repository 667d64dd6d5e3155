import { HeddleError } from '../../client/errors.js';
import type { GrantedNode, RequestView } from '../../model/pool/view.js';
import { stripSecrets } from '../../model/strip-secrets.js';
import { cleanLine } from '../clean-text.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../output.js';
import { formatDuration } from '../time-text.js';
import { printTable, withPool } from './look.js';

export interface CreateOptions extends ServerOptions {
  readonly wait: boolean;
  readonly priority?: number;
  readonly requester?: string;
  readonly tenant?: string;
  readonly providerPool?: string;
  /** Ms. */
  readonly lease?: number;
}

export async function create(name: string, labels: readonly string[], options: CreateOptions): Promise<number> {
  const { priority, requester, tenant, providerPool, lease } = options;
  return withPool(name, options, async (pool, output) => {
    const asked = await pool.request(labels, {
      ...(priority === undefined ? {} : { priority }), ...(requester === undefined ? {} : { requester }), ...(tenant === undefined ? {} : { tenant }),
      ...(providerPool === undefined ? {} : { providerPool }), ...(lease === undefined ? {} : { leaseMs: lease }),
    });
    if (options.wait && asked.state !== 'fulfilled') output.note(`request ${asked.id}: waiting`);
    const request = options.wait && asked.state !== 'fulfilled' ? await pool.waitFor(asked.id) : asked;
    printRequest(output, name, request);
    output.document(withoutSecrets(request));
    return exitCodes.ok;
  });
}

export async function list(name: string, options: ServerOptions): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    const requests = (await pool.requests()).map(withoutSecrets);
    output.document({ pool: name, requests });
    const now = Date.now();
    if (requests.length === 0) output.line('no requests');
    else printTable(output, ['REQUEST', 'STATE', 'FOR', 'LABELS', 'PRIORITY', 'REQUESTER', 'NODES', 'WHY'], requests.map((request) => [
      request.id, request.state, formatDuration(now - request.since), request.labels.join(','), String(request.priority ?? '-'), request.requester,
      request.nodes?.map(({ id }) => id).join(',') ?? request.making?.join(',') ?? '-', whyOf(request),
    ]));
    return exitCodes.ok;
  });
}

export async function show(name: string, id: string, options: ServerOptions & { readonly credentials?: boolean }): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    const [request] = await pool.requests([id]);
    if (request === undefined) throw new HeddleError('NotFound', `pool ${name} has no request ${id}; 'heddle request list ${name}' shows those it has`);
    printRequest(output, name, request);
    output.document(options.credentials === true ? request : withoutSecrets(request));
    return exitCodes.ok;
  });
}

export async function renew(name: string, id: string, options: ServerOptions): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    if (!(await pool.renew(id))) throw new HeddleError('Refused', `request ${id} has no nodes whose lease could be renewed`);
    output.line(`the lease of ${id} begins anew`);
    output.document({ pool: name, id, renewed: true });
    return exitCodes.ok;
  });
}

export async function end(name: string, id: string, how: 'cancel' | 'return', options: ServerOptions): Promise<number> {
  return withPool(name, options, async (pool, output) => {
    const [request] = await pool.requests([id]);
    if (request === undefined) throw new HeddleError('NotFound', `pool ${name} has no request ${id}; 'heddle request list ${name}' shows those it has`);
    await (how === 'cancel' ? pool.cancel(id) : pool.giveBack(id));
    output.line(how === 'cancel' ? `request ${id} is cancelled` : `the nodes of ${id} are given back`);
    output.document({ pool: name, id, ended: how });
    return exitCodes.ok;
  });
}

function printRequest(output: Output, pool: string, request: RequestView): void {
  output.line(cleanLine(`request ${request.id}: ${request.state}${whyOf(request) === '-' ? '' : ` (${whyOf(request)})`}`));
  if (request.nodes === undefined) return;
  printTable(output, ['NODE', 'LABEL', 'ADDRESS', 'PORT', 'USER'], request.nodes.map(({ id, label, payload }) => {
    const auth = payload['ssh-auth'];
    const user = typeof auth === 'object' && auth !== null && 'user' in auth ? auth.user : undefined;
    return [id, label, textOf(payload['ipaddress']), textOf(payload['ssh-port']), textOf(user)];
  }));
  if (request.expiresAt !== undefined) output.line(`lease: ${formatDuration(request.expiresAt - Date.now())} left`);
  output.line(`next: heddle request return ${pool} ${request.id}`);
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '-';
}

function whyOf({ declined = {}, waits, state }: RequestView): string {
  const refusals = Object.entries(declined).map(([providerPool, why]) => `${providerPool}: ${why}`).join('; ');
  return (state === 'failed' && refusals !== '' ? refusals : waits) ?? '-';
}

function withoutSecrets(request: RequestView): RequestView {
  if (request.nodes === undefined) return request;
  return { ...request, nodes: request.nodes.map((node): GrantedNode => ({ ...node, payload: stripSecrets(node.payload) })) };
}
