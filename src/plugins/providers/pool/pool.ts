import type { AllocatedNode } from '../../../model/pool/allocated.js';
import type { NodeDemand } from '../../../model/pool/request.js';
import type { RequestView } from '../../../model/pool/view.js';
import type { TaskResult } from '../../../model/node/task.js';
import {
  Provider,
  type CreateInput,
  type Machine,
  type MachineInput,
  type NodePools,
  type PluginContext,
} from '../../contract.js';
import { PluginError } from '../../errors.js';
import { hasTags } from '../../provider-base/machines.js';
import { idOf, poolOf } from './ids.js';
import { payloadOf } from './payload.js';

/**
 * Wait, in ms, until a node is looked for again that is being made, and for one that no provider can make
 * now.
 */
const makingMs = 250;
const waitingMs = 3_000;

/**
 * Nodes of pools as machines. CREATE is a request under the machine's key, DELETE ends it: who has which node
 * is state of the pool's workflow, so that it is neither lost nor allocated twice after a crash.
 */
export class PoolProvider extends Provider {
  private readonly pools: NodePools;

  constructor(context: PluginContext) {
    super(context);
    if (context.pools === undefined)
      throw new PluginError('Invalid', 'provider type pool needs an engine that knows the pools');
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
      ...(typeof priority === 'number' ? { priority } : {}),
      ...(typeof providerPool === 'string' ? { providerPool } : {}),
      ...(typeof tenant === 'string' ? { tenant } : {}),
    };
    const request = await this.pools.ask(pool, demand);
    this.refuseOver(pool, request);
    this.log.info(`asked pool ${pool} for a node of label ${flavor}: ${request.state}`);
    return { result: { providerid: idOf(pool, key) } };
  }

  async confirm({ providerid, key }: MachineInput): Promise<TaskResult> {
    const pool = poolOf(providerid) ?? this.namedPool();
    const request = await this.pools.look(pool, key);
    if (request === undefined)
      throw new PluginError('Invalid', `pool ${pool} knows nothing of this node; replace it`);
    this.refuseOver(pool, request);
    const [node] = request.nodes ?? [];
    if (node?.lost === true)
      throw new PluginError('Invalid', `node ${node.id} was deleted from pool ${pool}; replace the node`);
    if (node !== undefined) return { result: payloadOf(pool, node) };
    const isMade = request.state === 'pending';
    throw new PluginError(
      'NotReady',
      isMade
        ? `pool ${pool} makes a node`
        : `pool ${pool} has no node yet${request.waits === undefined ? '' : `: ${request.waits}`}`,
      { retryAfterMs: isMade ? makingMs : waitingMs },
    );
  }

  /** From then on the node is the pool's: it deletes it, or cleans it up for the next request. */
  async delete({ providerid, key }: MachineInput): Promise<TaskResult> {
    const pool = poolOf(providerid) ?? textOf(this.fields['pool']);
    const pools = pool === undefined ? await this.pools.names() : [pool];
    for (const name of pools) await this.pools.end(name, key);
    return {};
  }

  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    const machines = await this.machinesOf(await this.poolNames());
    return machines.filter((machine) => hasTags(machine.tags, tags));
  }

  async find(key: string): Promise<readonly Machine[]> {
    const found: Machine[] = [];
    for (const pool of await this.poolNames()) {
      const allocated = (await this.pools.allocated(pool)).find((node) => node.key === key);
      if (allocated !== undefined) found.push(machineOf(pool, allocated));
    }
    return found;
  }

  private async poolNames(): Promise<readonly string[]> {
    const pool = textOf(this.fields['pool']);
    return pool === undefined ? this.pools.names() : [pool];
  }

  private async machinesOf(pools: readonly string[]): Promise<readonly Machine[]> {
    const machines: Machine[] = [];
    for (const pool of pools)
      machines.push(...(await this.pools.allocated(pool)).map((node) => machineOf(pool, node)));
    return machines;
  }

  private namedPool(): string {
    const pool = textOf(this.fields['pool']);
    if (pool === undefined)
      throw new PluginError(
        'Invalid',
        `no pool is named: write pool: NAME in the cluster's group, or give provider ${this.task.provider.name} the field pool in heddle.yaml`,
      );
    return pool;
  }

  /** Nothing comes of it any more. */
  private refuseOver(pool: string, { state, declined = {}, waits }: RequestView): void {
    if (state === 'requested' || state === 'pending' || state === 'fulfilled') return;
    if (state !== 'failed')
      throw new PluginError('Invalid', `the node was given back to pool ${pool} (${state}); replace it`);
    const whys = Object.entries(declined).map(([providerPool, why]) => `${providerPool}: ${why}`);
    throw new PluginError(
      'Capacity',
      `pool ${pool} cannot serve it: ${whys.join('; ') || waits || 'for an unknown reason'}`,
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
