import { tagNames } from '../../model/names.js';
import type { TaskResult } from '../../model/node/task.js';
import {
  Provider,
  type Claims,
  type CreateInput,
  type Machine,
  type MachineInput,
  type PluginContext,
} from '../contract.js';
import { PluginError } from '../errors.js';
import { hasTags } from '../provider-base/machines.js';

/** An existing machine or service, free or in use. */
export interface Claimed {
  readonly name: string;
  /** Absent: matches any flavor. */
  readonly flavor?: string | undefined;
}

/** A provider of existing machines or services: CREATE claims a free one, DELETE releases it. */
export abstract class ClaimingProvider<
  Thing extends Claimed,
  Fields extends object,
> extends Provider<Fields> {
  private readonly claims: Claims;

  constructor(context: PluginContext) {
    super(context);
    if (context.claims === undefined)
      throw new PluginError(
        'Invalid',
        `provider type ${this.task.provider.type} requires an engine that stores claims`,
      );
    this.claims = context.claims;
  }

  /** The kind of thing, for messages. */
  protected abstract readonly word: 'machine' | 'resource';

  /** The name of the one that the user selects. */
  protected abstract readonly named: string | undefined;

  /** The machines or services of the account. */
  protected abstract things(): Promise<readonly Thing[]>;

  async machineNames(): Promise<readonly string[]> {
    return (await this.things()).map(({ name }) => name);
  }

  /**
   * Ends a program that works on the thing for an earlier task or owner; returns when it no longer runs.
   * @throws PluginError Retryable if that is not certain.
   */
  protected abstract settle(name: string): Promise<void>;

  override async create({ key, flavor }: CreateInput): Promise<TaskResult> {
    const { word, named } = this;
    const all = await this.things();
    const fitting = all.filter((thing) =>
      named === undefined ? (thing.flavor ?? flavor) === flavor : thing.name === named,
    );
    const name = await this.claims.take(
      key,
      fitting.map((thing) => thing.name),
    );
    if (name === undefined) {
      const what = named === undefined ? `of flavor ${flavor}` : `named ${JSON.stringify(named)}`;
      throw new PluginError(
        fitting.length === 0 ? 'Invalid' : 'Capacity',
        `provider ${this.task.provider.name} has ${fitting.length === 0 ? `no ${word}` : `no free ${word}`} ${what}; its ${word}s are ${all.map((thing) => thing.name).join(', ')}`,
      );
    }
    await this.settle(name);
    this.log.info(`took ${word} ${name}`, { [word]: name });
    return { result: { providerid: name } };
  }

  override async delete({ key }: MachineInput): Promise<void> {
    const name = await this.nameOf(key);
    if (name !== undefined) await this.settle(name);
    await this.claims.release(key);
  }

  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    const held = Object.entries(await this.claims.held()).map(([name, key]): Machine => ({
      providerid: name,
      key,
      state: 'running',
      tags: { [tagNames.installation]: tags[tagNames.installation] ?? '', [tagNames.key]: key },
    }));
    return held.filter((machine) => hasTags(machine.tags, tags));
  }

  async find(key: string): Promise<readonly Machine[]> {
    const name = await this.nameOf(key);
    return name === undefined
      ? []
      : [{ providerid: name, key, tags: {}, state: 'running', created: { providerid: name } }];
  }

  /**
   * The machine of the key.
   * @throws PluginError Invalid if it has none, or the configuration no longer contains it.
   */
  protected async own({ key }: MachineInput): Promise<Thing> {
    const { name: account } = this.task.provider;
    const name = await this.nameOf(key);
    if (name === undefined)
      throw new PluginError('Invalid', `this ${this.word} was released to provider ${account}`);
    const thing = (await this.things()).find((candidate) => candidate.name === name);
    if (thing === undefined)
      throw new PluginError(
        'Invalid',
        `${this.word} ${name} is no longer a ${this.word} of provider ${account}; add it again to heddle.yaml or its inventory`,
      );
    return thing;
  }

  private nameOf(key: string): Promise<string | undefined> {
    return this.claims.take(key, []);
  }
}
