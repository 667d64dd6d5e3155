import { isIP } from 'node:net';
import { machineOfSlot as nameOfSlot, tagNames } from '../../../model/names.js';
import type { TaskResult } from '../../../model/node/task.js';
import {
  Provider,
  type AccountOffers,
  type AccountQuota,
  type Claims,
  type CreateInput,
  type ImageInput,
  type Knowledge,
  type LoadOutcome,
  type Machine,
  type MachineInput,
  type PluginContext,
  type ProviderAbilities,
  type WantedKind,
} from '../../contract.js';
import { runCommand } from '../../bare-metal/index.js';
import { PluginError } from '../../errors.js';
import { fillWords } from '../../fill-words.js';
import { hostKeysFor } from '../../known-hosts.js';
import { hasTags, resolveAddress } from '../../provider-base/machines.js';
import { readTrustedFile, UntrustedFile, wordsForFileError } from '../../trusted-file.js';
import { answersSsh } from './liveness.js';
import type { StaticFields } from './field-types.js';
import {
  machineFaults,
  machineOfSlot,
  readAccount,
  slotsOf,
  type StaticAccount,
  type StaticMachine,
} from './machines.js';

const askedAtOnce = 32;

/**
 * Machines that exist: CREATE claims a free one, DELETE releases it and changes nothing on it. Who
 * has which is kept by the engine (claims): machines carry no tags, and workers on different hosts must
 * agree.
 */
export class StaticProvider extends Provider<StaticFields> implements Partial<ProviderAbilities> {
  static checkFields = machineFaults;

  private readonly claims: Claims;

  constructor(context: PluginContext) {
    super(context);
    if (context.claims === undefined)
      throw new PluginError('Invalid', 'provider type static requires an engine that stores claims');
    this.claims = context.claims;
  }

  /** The same key gets the same machine however often it asks. */
  async create({ key, flavor, image }: CreateInput): Promise<TaskResult> {
    const { machines, liveness } = await this.account();
    const { machine: named } = this.fields;
    const fitting = this.fitting(machines, { flavor, image });
    if (fitting.length === 0) {
      throw new PluginError(
        'Invalid',
        `provider ${this.task.provider.name} has no machine${named === undefined ? '' : ` ${JSON.stringify(named)}`} of flavor ${flavor} with image ${image}; ` +
          `its machines are ${machines.map(describe).join(', ')}`,
      );
    }
    const name =
      liveness === 'none'
        ? await this.claims.take(key, slotsOf(fitting))
        : await this.takeLiving(key, fitting);
    if (name === undefined) {
      const { limits, used } = await this.quota();
      throw new PluginError(
        (used['nodes'] ?? 0) < (limits['nodes'] ?? 0) ? 'Capacity' : 'Quota',
        `all ${fitting.length} machines of provider ${this.task.provider.name} that fit are in use (${fitting.map(describe).join(', ')}); ` +
          'delete a cluster that uses them, or add machines to heddle.yaml',
      );
    }
    this.log.info(`took machine ${name}`, { machine: name });
    return { result: { providerid: name, ...sshUser(machines, name) } };
  }

  /**
   * Claims before it asks: a query for the claims would wait behind the claims of other nodes.
   * Where the claimed machine does not answer, it looks for one that does.
   */
  private async takeLiving(key: string, fitting: readonly StaticMachine[]): Promise<string | undefined> {
    const answers = new Map<StaticMachine, Promise<boolean>>();
    const answering = async (slot: string): Promise<readonly string[]> => {
      const machine = machineOfSlot(fitting, slot);
      if (machine === undefined) return [];
      const answer = answers.get(machine) ?? answersSsh(machine, this.signal);
      answers.set(machine, answer);
      return (await answer) ? [slot] : [];
    };
    const slots = slotsOf(fitting);
    const first = await this.claims.take(key, slots);
    if (first === undefined) return undefined;
    const isLiving = (await answering(first)).length > 0;
    this.signal.throwIfAborted();
    if (isLiving) return first;
    await this.claims.release(key);
    for (let asked = 0; asked < slots.length; asked += askedAtOnce) {
      const living = (await Promise.all(slots.slice(asked, asked + askedAtOnce).map(answering))).flat();
      this.signal.throwIfAborted();
      const name = living.length === 0 ? undefined : await this.claims.take(key, living);
      if (name !== undefined) return name;
    }
    const held = await this.claims.held();
    const free: StaticMachine[] = [];
    for (const [machine, isLiving] of answers)
      if (slotsOf([machine]).some((slot) => held[slot] === undefined) && !(await isLiving))
        free.push(machine);
    if (free.length === 0) return undefined;
    throw new PluginError(
      'Capacity',
      `${free.length} machines of provider ${this.task.provider.name} are free, but none of their SSH servers answers (${free.map(describe).join(', ')}); ` +
        'switch one on, or set liveness: none if they are reached through a jump host',
    );
  }

  /** Says where the machine is; the engine then looks whether SSH answers there. */
  async confirm(input: MachineInput): Promise<TaskResult> {
    const name = await this.ownName(input);
    const { machines, knownHosts } = await this.account();
    const machine = machineOfSlot(machines, name);
    if (machine === undefined) throw this.unlisted(name);
    const hostKeys =
      knownHosts === undefined
        ? machine.hostKeys
        : [...machine.hostKeys, ...(await readHostKeys(knownHosts, machine))];
    return {
      result: {
        ipaddress: await this.addressOf(machine),
        'ssh-port': machine.port,
        'ssh-auth': machine.sshAuth,
        ...(hostKeys.length > 0 ? { 'ssh-host-key': [...new Set(hostKeys)] } : {}),
      },
    };
  }

  /** Gives the machine back. Nothing on it is touched: it was not ours to make, and is not ours to wipe. */
  async delete({ key }: MachineInput): Promise<TaskResult> {
    await this.claims.release(key);
    return {};
  }

  /**
   * Claimed machines. They carry no tags: this installation alone records who has them, so each matches any
   * requested installation and its key. A machine removed from the configuration is not listed.
   */
  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    const { machines } = await this.account();
    const held = Object.entries(await this.claims.held()).flatMap(([name, key]): readonly Machine[] => {
      const machine = machineOfSlot(machines, name);
      const own = { [tagNames.installation]: tags[tagNames.installation] ?? '', [tagNames.key]: key };
      return machine === undefined ? [] : [{ ...taken(name, machine, key), tags: own }];
    });
    return held.filter((machine) => hasTags(machine.tags, tags));
  }

  /**
   * @throws PluginError Invalid if the key's machine is no longer in the configuration: that may be a
   * mistake, so it does not count as gone.
   */
  async find(key: string): Promise<readonly Machine[]> {
    const name = await this.findName(key);
    if (name === undefined) return [];
    const { machines } = await this.account();
    const machine = machineOfSlot(machines, name);
    if (machine === undefined) throw this.unlisted(name);
    return [{ ...taken(name, machine, key), created: { providerid: name, ...sshUser(machines, name) } }];
  }

  /** So pools do not ask for more than there is, and wait where all is taken. */
  async quota(): Promise<AccountQuota> {
    const { machines } = await this.account();
    const [slots, held] = [slotsOf(machines), await this.claims.held()];
    return {
      limits: { nodes: slots.length },
      used: { nodes: slots.filter((slot) => held[slot] !== undefined).length },
    };
  }

  async machineNames(): Promise<readonly string[]> {
    return (await this.account()).machines.map(({ name }) => name);
  }

  private fitting(
    machines: readonly StaticMachine[],
    { flavor, image }: WantedKind,
  ): readonly StaticMachine[] {
    const { machine: named } = this.fields;
    const ofFlavor = thoseWith('flavor', flavor, machines, machines);
    return thoseWith('image', image, ofFlavor, machines).filter(
      ({ name }) => named === undefined || name === named,
    );
  }

  /** A machine without a flavor or an image is taken for any. */
  async offers(wanted: WantedKind): Promise<AccountOffers> {
    const { machines } = await this.account();
    const held = await this.claims.held();
    const freeOf = (some: readonly StaticMachine[]): readonly string[] =>
      slotsOf(some).filter((slot) => held[slot] === undefined);
    const fitting = freeOf(this.fitting(machines, wanted));
    const namesOf = (key: 'flavor' | 'image'): readonly string[] | undefined => {
      const names = machines.flatMap((machine) => machine[key] ?? []);
      return names.length < machines.length ? undefined : [...new Set(names)];
    };
    return {
      flavors: namesOf('flavor'),
      images: namesOf('image'),
      free: {
        all: freeOf(machines).length,
        ofKind: fitting.length,
        machines: [...new Set(fitting.map((slot) => nameOfSlot(slot)))],
      },
    };
  }

  /** Another node may have the machine already, so its program must not touch it. */
  async nodeDeleted(input: MachineInput): Promise<void> {
    await this.notify('deleted', input);
  }

  async nodeReused(input: MachineInput): Promise<void> {
    await this.notify('reused', input);
  }

  /** Without a machine, as after a failed CREATE, there is nothing to say. */
  private async notify(what: 'deleted' | 'reused', { providerid, key }: MachineInput): Promise<void> {
    const { machines, programs } = await this.account();
    const command = programs[what];
    if (command === undefined || providerid === undefined) return;
    const address = machineOfSlot(machines, providerid)?.address ?? '';
    const values = { machine: providerid, address, key };
    const { code, stderr } = await runCommand(fillWords(command, values), {
      signal: this.signal,
      environment: { HEDDLE_MACHINE: providerid, HEDDLE_ADDRESS: address, HEDDLE_KEY: key },
    });
    if (code === 0) return;
    const last = stderr.trim().split('\n').at(-1)?.slice(-300) ?? '';
    throw new PluginError(
      'Retryable',
      `program ${what} for machine ${providerid} ended with ${code ?? 'no exit code'}${last === '' ? '' : `: ${last}`}`,
    );
  }

  private account(): Promise<StaticAccount> {
    return readAccount(this.fields, this.task.provider.name, this.log);
  }

  /** Done when SSH answers, which the engine checks afterwards. */
  async load(input: ImageInput): Promise<LoadOutcome> {
    await this.ownName(input);
    const { image, progress } = input;
    progress(`nothing is written; the machine is assumed to have ${image.name}@${image.revision}`);
    return { answer: 'done', untouched: true };
  }

  /** LOAD writes nothing, so every image exists. */
  async imageExists(): Promise<Knowledge> {
    return { is: 'yes' };
  }

  private async addressOf({ address, name }: StaticMachine): Promise<string> {
    try {
      return await resolveAddress(address);
    } catch (error) {
      throw new PluginError('NotReady', `the address ${address} of machine ${name} cannot be resolved`, {
        cause: error,
        remedy: `correct \`address\` of machine ${name} of provider ${this.task.provider.name}, or add the name to DNS`,
      });
    }
  }

  private unlisted(name = 'of this node'): PluginError {
    return new PluginError(
      'Invalid',
      `machine ${name} is no longer a machine of provider ${this.task.provider.name}; add it again to heddle.yaml or its inventory, or replace the node`,
    );
  }

  /**
   * The name of the key's machine.
   * @throws PluginError Invalid when the key has none, or not the one that the payload names.
   */
  private async ownName({ providerid, key }: MachineInput): Promise<string> {
    const name = await this.findName(key);
    // It may be another's by now.
    if (name !== undefined && (providerid === undefined || providerid === name)) return name;
    throw new PluginError(
      'Invalid',
      `machine ${providerid ?? 'of this node'} was released to provider ${this.task.provider.name}; replace the node`,
    );
  }

  private findName(key: string): Promise<string | undefined> {
    return this.claims.take(key, []);
  }
}

/**
 * No API reports its state; SSH shows whether it answers. A host name is looked up when it is confirmed.
 */
function taken(slot: string, { address }: StaticMachine, key: string): Machine {
  return { providerid: slot, key, tags: {}, state: 'running', ...(isIP(address) > 0 ? { address } : {}) };
}

/** A machine without a flavor or image has any, except those that other machines of the account declare. */
function thoseWith(
  key: 'flavor' | 'image',
  wanted: string,
  machines: readonly StaticMachine[],
  all: readonly StaticMachine[],
): readonly StaticMachine[] {
  const isDeclared = all.some((machine) => machine[key] === wanted);
  return machines.filter((machine) => machine[key] === (isDeclared ? wanted : undefined));
}

function describe({ name, flavor, image }: StaticMachine): string {
  const kind = [flavor, image].filter((word) => word !== undefined);
  return kind.length === 0 ? name : `${name} (${kind.join(', ')})`;
}

/** The account may have lost the machine since the key took it: then CONFIRM says so. */
function sshUser(
  machines: readonly StaticMachine[],
  name: string,
): { readonly 'ssh-auth'?: { readonly user: string } } {
  const user = machineOfSlot(machines, name)?.sshAuth['user'];
  return typeof user === 'string' ? { 'ssh-auth': { user } } : {};
}

async function readHostKeys(file: string, machine: StaticMachine): Promise<readonly string[]> {
  const content = await readTrustedFile(file).catch((error: unknown) => {
    if (error instanceof UntrustedFile)
      throw new PluginError('Invalid', `knownHosts: ${error.message}`, { cause: error });
    throw new PluginError(
      'Invalid',
      `knownHosts ${file} cannot be read on this worker: ${wordsForFileError(error)}`,
      { cause: error },
    );
  });
  const keys = hostKeysFor(content, machine.address, machine.port);
  if (keys.length > 0 || machine.hostKeys.length > 0) return keys;
  // Without this the first key that answers would be trusted, in spite of the file.
  throw new PluginError(
    'Invalid',
    `knownHosts ${file} has no key for ${machine.address} port ${machine.port}; verify the key and add it with ssh-keyscan, or set hostKey`,
  );
}
