import type { JsonObject } from '../../../model/json.js';
import { reservedKeysIn } from '../../../model/node/result-table.js';
import type { AllocatedNode } from '../../../model/pool/allocated.js';
import type { NodeDemand } from '../../../model/pool/request.js';
import type { GrantedNode, RequestView } from '../../../schema/output/pool.js';
import type { TaskResult } from '../../../model/node/task.js';
import {
  Provider,
  type AccountOffers,
  type CreateInput,
  type Machine,
  type MachineInput,
  type NodePools,
  type PluginContext,
} from '../../contract.js';
import { PluginError } from '../../errors.js';
import { hasTags } from '../../provider-base/machines.js';
import type { PoolFields } from './field-types.js';

/**
 * Time in ms until CONFIRM is repeated: for a node that is being made, and for one that waits for capacity.
 */
const makingMs = 250;
const waitingMs = 3_000;

/**
 * Nodes of pools as machines. CREATE makes a request under the machine's key, DELETE ends it. The pool's
 * workflow keeps the allocation, so a crash neither loses a node nor allocates it twice.
 */
export class PoolProvider extends Provider<PoolFields> {
  private readonly pools: NodePools;

  constructor(context: PluginContext) {
    super(context);
    if (context.pools === undefined)
      throw new PluginError('Invalid', 'provider type pool requires an engine with pools');
    this.pools = context.pools;
  }

  /** The flavor is the label. */
  async create({ key, tags, flavor }: CreateInput): Promise<TaskResult> {
    const pool = this.namedPool();
    const { priority, providerPool, tenant } = this.fields;
    const demand: NodeDemand = {
      id: key,
      labels: [flavor],
      tags,
      requester: `cluster ${this.task.clusterId}`,
      attributes: { node: this.task.nodeId },
      priority,
      providerPool,
      tenant,
    };
    const request = await this.pools.ask(pool, demand);
    this.refuseOver(pool, request);
    this.log.info(`asked pool ${pool} for a node of label ${flavor}: ${request.state}`);
    return { result: { providerid: idOf(pool, key) } };
  }

  async confirm({ providerid, key }: MachineInput): Promise<TaskResult> {
    const pool = poolOf(providerid) ?? this.namedPool();
    const request = await this.pools.request(pool, key);
    if (request === undefined)
      throw new PluginError('Invalid', `pool ${pool} does not know this node; replace it`);
    this.refuseOver(pool, request);
    const [node] = request.nodes ?? [];
    if (node?.lost === true)
      throw new PluginError('Invalid', `node ${node.id} was deleted from pool ${pool}; replace the node`);
    if (node !== undefined) return { result: payloadOf(pool, node) };
    const isMade = request.state === 'pending';
    throw new PluginError(
      'NotReady',
      isMade
        ? `pool ${pool} is creating a node`
        : `pool ${pool} has no node yet${request.waits === undefined ? '' : `: ${request.waits}`}`,
      { retryAfterMs: isMade ? makingMs : waitingMs },
    );
  }

  /** Returns the node to the pool, which deletes it or cleans it up for the next request. */
  async delete({ providerid, key }: MachineInput): Promise<TaskResult> {
    const pool = poolOf(providerid) ?? textOf(this.fields.pool);
    const pools = pool === undefined ? await this.pools.names() : [pool];
    for (const name of pools) await this.pools.end(name, key);
    return {};
  }

  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    return (await this.machines()).filter((machine) => hasTags(machine.tags, tags));
  }

  async find(key: string): Promise<readonly Machine[]> {
    return (await this.machines()).filter((machine) => machine.key === key);
  }

  /** The flavor is the label. */
  async offers(): Promise<AccountOffers> {
    const pool = this.namedPool();
    const labels = await this.pools.labels(pool);
    if (labels === undefined)
      throw new PluginError(
        'Invalid',
        `pool ${pool} does not exist; run 'heddle pool list' to see the existing ones`,
      );
    return { flavors: labels };
  }

  private async poolNames(): Promise<readonly string[]> {
    const pool = textOf(this.fields.pool);
    return pool === undefined ? this.pools.names() : [pool];
  }

  private async machines(): Promise<readonly Machine[]> {
    const machines: Machine[] = [];
    for (const pool of await this.poolNames())
      machines.push(...(await this.pools.allocated(pool)).map((node) => machineOf(pool, node)));
    return machines;
  }

  private namedPool(): string {
    const pool = textOf(this.fields.pool);
    if (pool === undefined)
      throw new PluginError(
        'Invalid',
        `no pool is set: add pool: NAME to the cluster's group, or the field pool to provider ${this.task.provider.name} in heddle.yaml`,
      );
    return pool;
  }

  /** @throws PluginError when the request has failed or ended */
  private refuseOver(pool: string, { state, declined = {}, waits }: RequestView): void {
    if (state === 'requested' || state === 'pending' || state === 'fulfilled') return;
    if (state !== 'failed')
      throw new PluginError('Invalid', `the node was returned to pool ${pool} (${state}); replace it`);
    const whys = Object.entries(declined).map(([providerPool, why]) => `${providerPool}: ${why}`);
    throw new PluginError(
      'Capacity',
      `pool ${pool} cannot serve the request: ${whys.join('; ') || waits || 'for an unknown reason'}`,
    );
  }
}

function machineOf(pool: string, { key, tags, state, address, createdAt }: AllocatedNode): Machine {
  const providerid = idOf(pool, key);
  return {
    providerid,
    key,
    tags,
    state,
    createdAt: new Date(createdAt).toISOString(),
    created: { providerid },
    address,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** At CREATE only the pool and the key are known, not the node, so they make up the id. */
function idOf(pool: string, key: string): string {
  return `${pool}/${key}`;
}

/** The pool of an id; names of pools contain no slash. */
function poolOf(providerid: string | undefined): string | undefined {
  const end = providerid?.indexOf('/') ?? -1;
  return end < 1 ? undefined : providerid?.slice(0, end);
}

/** The payload of the pool's node without what the cluster's node sets itself; `pool` identifies the node. */
function payloadOf(pool: string, { id, label, attributes, payload }: GrantedNode): JsonObject {
  const omitted = ['hostname', 'providerid', ...reservedKeysIn(payload)];
  const { providerid } = payload;
  return {
    ...Object.fromEntries(Object.entries(payload).filter(([key]) => !omitted.includes(key))),
    pool: { name: pool, node: id, label, attributes, ...(providerid === undefined ? {} : { providerid }) },
  };
}
