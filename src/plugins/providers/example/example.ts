import { z } from 'zod';
import {
  Provider,
  takeSteps,
  undoSteps,
  type CreateInput,
  type Machine,
  type MachineInput,
  type TaskResult,
  type ProviderAbilities,
} from '../../contract.js';
import { notReady, requireRunning } from '../../provider-base/confirm.js';
import { halfMade } from '../../provider-base/half-made.js';
import type { ExampleFields } from './field-types.js';
import { ExampleApi } from './api.js';
import { addressesOf, machinePath, parts, partsWithTags, volumesOf } from './parts.js';

const summarySchema = z.object({
  id: z.string(),
  state: z.enum(['pending', 'booting', 'running', 'stopped', 'failed', 'deleting']),
  key: z.string(),
  tags: z.record(z.string(), z.string()),
  address: z.string(),
  createdAt: z.string(),
});
const pageSchema = z.object({ machines: z.array(summarySchema), next: z.string().optional() });
const detailsSchema = summarySchema.extend({
  port: z.number(),
  user: z.string(),
  password: z.string(),
  hostKey: z.string(),
});

const retryMs = 300;

/** Machines of several parts; `parts.ts` defines the parts and how they are created and removed. */
export class ExampleProvider extends Provider<ExampleFields> implements Partial<ProviderAbilities> {
  override async create({ key, token, tags, hostname, flavor, image }: CreateInput): Promise<TaskResult> {
    const { volumeGb } = this.fields;
    const wanted = { token, tags, hostname, flavor, image, volumeGb };
    return { result: await takeSteps(parts, { api: this.#api(), key, wanted }, this.record) };
  }

  override async confirm({ providerid = '-', key }: MachineInput): Promise<TaskResult> {
    const machine = await this.#api().call(detailsSchema, 'GET', machinePath(providerid, key));
    if (machine === undefined) throw notReady(`machine ${providerid} is not visible yet`, retryMs);
    const { address, port, user, password, hostKey } = machine;
    const { state } = machineOf(machine);
    requireRunning({ what: `machine ${providerid}`, state, shown: machine.state }, retryMs);
    return {
      result: {
        ipaddress: address,
        'ssh-port': port,
        'ssh-auth': { user, password },
        'ssh-host-key': hostKey,
      },
    };
  }

  override async delete({ key, providerid }: MachineInput): Promise<void> {
    await undoSteps(parts, { api: this.#api(), key, providerid }, retryMs);
  }

  /**
   * Also what an interrupted CREATE left without a machine, so that the sweep finds it. Parts are read first:
   * otherwise a machine that is made meanwhile would be missing beside its parts.
   */
  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    const made = await partsWithTags(this.#api(), tags);
    const query = Object.entries(tags).map(([name, value]) => ['tag', `${name}=${value}`] as const);
    const machines = (await this.#pages(query)).map(machineOf);
    return [...machines, ...halfMade(made, machines)];
  }

  /** A machine that lacks a part is found too, but without CREATE's result: it cannot be adopted. */
  async find(key: string): Promise<readonly Machine[]> {
    const api = this.#api();
    const [volume] = await volumesOf({ api, key });
    const [address] = await addressesOf({ api, key });
    return Promise.all(
      (await this.#pages([['key', key]])).map(async (summary) => {
        const details = await api.call(detailsSchema, 'GET', machinePath(summary.id, key));
        if (details === undefined) return { ...machineOf(summary), state: 'gone' as const };
        if (volume?.machine !== summary.id || address?.machine !== summary.id) return machineOf(summary);
        return {
          ...machineOf(summary),
          created: {
            providerid: summary.id,
            'ssh-auth': { user: details.user },
            volume: volume.id,
            address: address.id,
          },
        };
      }),
    );
  }

  async #pages(
    query: readonly (readonly [string, string])[],
  ): Promise<readonly z.infer<typeof summarySchema>[]> {
    const found: z.infer<typeof summarySchema>[] = [];
    let page: string | undefined;
    do {
      const parameters = new URLSearchParams([
        ...query.map(([name, value]): [string, string] => [name, value]),
        ['limit', '200'],
      ]);
      if (page !== undefined) parameters.set('page', page);
      const answer: z.infer<typeof pageSchema> | undefined = await this.#api().call(
        pageSchema,
        'GET',
        `/v1/machines?${parameters.toString()}`,
      );
      found.push(...(answer?.machines ?? []));
      page = answer?.next;
    } while (page !== undefined);
    return found;
  }

  #api(): ExampleApi {
    const { endpoint, apiKey } = this.fields;
    return new ExampleApi({ endpoint, apiKey, signal: this.signal, calls: this.calls });
  }
}

function machineOf({ id, state, key, tags, address, createdAt }: z.infer<typeof summarySchema>): Machine {
  const states: Readonly<Partial<Record<typeof state, Machine['state']>>> = {
    pending: 'starting',
    booting: 'starting',
    deleting: 'deleting',
  };
  const shown =
    state === 'running' || state === 'stopped' || state === 'failed' ? state : (states[state] ?? 'starting');
  return { providerid: id, key, tags, state: shown, address, createdAt };
}
