import type { Instance } from '@aws-sdk/client-ec2';
import { tagNames } from '../../../model/names.js';
import {
  PluginError,
  Provider,
  requireKey,
  type AccountOffers,
  type AccountQuota,
  type CreateInput,
  type ImageFileInput,
  type LibraryInput,
  type Machine,
  type MachineInput,
  type Outcome,
  type TaskResult,
  type UploadedImage,
  type WantedKind,
  type WantedSizes,
  type ProviderAbilities,
} from '../../contract.js';
import { notReady, requireRunning } from '../../provider-base/confirm.js';
import { halfMade } from '../../provider-base/half-made.js';
import { hasTags, sshAuthOf } from '../../provider-base/machines.js';
import { Ec2 } from './api.js';
import type { AwsFields } from './field-types.js';
import { conflictsOf } from './fields.js';
import { deleteImage, listImages, uploadImage } from './images.js';
import { asksForRootVolume, choosePlace, hostKeyTag, makeLaunch } from './launch.js';
import { addressOf, livingStates, machineOf, reasonOf, tagsOf } from './machines.js';
import { accountQuota } from './quota.js';
import { deleteParts, isPart, tagFilters, unattachedParts } from './parts.js';

/** Wait before the next check, in ms. */
const bootingMs = 3_000;
const endingMs = 5_000;

/** Instances of Amazon EC2. */
export class AwsProvider extends Provider<AwsFields> implements Partial<ProviderAbilities> {
  static checkFields = conflictsOf;

  override async create(input: CreateInput): Promise<TaskResult> {
    return this.#with(async (ec2, fields) => {
      const rootDevice = asksForRootVolume(fields) ? await ec2.rootDevice(input.image) : undefined;
      const request = makeLaunch(input, fields, rootDevice);
      const { SubnetId, zone } = choosePlace(fields, input.key);
      const what = `RunInstances (flavor ${input.flavor}, image ${input.image}, ${SubnetId ?? zone ?? 'any zone'})`;
      const instance = await ec2.runInstance(request, what);
      if (hasEnded(machineOf(instance, fields))) throw deleted('Invalid', input.key, instance);
      this.log.info(`instance ${instance.InstanceId ?? ''} is being created`, {
        providerid: instance.InstanceId ?? '',
      });
      return { result: created(instance, fields) };
    });
  }

  override async confirm({ providerid, key }: MachineInput): Promise<TaskResult> {
    return this.#with(async (ec2, fields) => {
      const instance =
        providerid === undefined ? (await withKey(ec2, key))[0] : await ec2.describeOne(providerid);
      if (instance === undefined)
        throw notReady(`instance ${providerid ?? `of key ${key}`} is not visible yet`, bootingMs);
      const machine = machineOf(instance, fields);
      const { state, providerid: id } = machine;
      if (hasEnded(machine)) throw deleted('MachineFailed', key, instance);
      requireKey({ providerid: id, key: machine.key }, key);
      requireRunning(
        { what: `instance ${id}`, state, shown: instance.State?.Name, why: reasonOf(instance) },
        state === 'stopped' ? endingMs : bootingMs,
      );
      const address = addressOf(instance, fields);
      if (address === undefined) {
        throw new PluginError(
          'NotReady',
          `instance ${id} has no ${fields.reachBy} address${fields.reachBy === 'public' ? '; does its subnet give one? Else set publicAddress' : ''}`,
          { retryAfterMs: bootingMs },
        );
      }
      const hostKey = tagsOf(instance)[hostKeyTag];
      return {
        result: {
          providerid: id,
          ipaddress: address,
          'ssh-port': fields.sshPort,
          'ssh-auth': sshAuthOf(fields.user, fields.privateKey),
          ...(hostKey === undefined ? {} : { 'ssh-host-key': hostKey }),
        },
      };
    });
  }

  /**
   * An instance is absent when EC2 says `terminated` or does not know it. Its tags may be gone by then, so
   * its key is not checked. Then what it left is deleted.
   */
  override async delete({ providerid, key }: MachineInput): Promise<void> {
    await this.#with(async (ec2, fields) => {
      const found =
        providerid === undefined || isPart(providerid)
          ? await withKey(ec2, key)
          : [(await ec2.describeOne(providerid)) ?? []].flat();
      const machines = found
        .filter(({ State }) => State?.Name !== 'terminated')
        .map((instance) => machineOf(instance, fields));
      for (const { providerid: id, key: shown } of machines) requireKey({ providerid: id, key: shown }, key);
      const ids = machines.map(({ providerid: id }) => id);
      const gone = await Promise.all(ids.map((id) => isTerminated(ec2, id)));
      const going = ids.filter((_id, index) => gone[index] === false);
      if (going.length > 0)
        throw new PluginError('NotReady', `instance ${going.join(', ')} is being terminated`, {
          retryAfterMs: endingMs,
        });
      await deleteParts(ec2, key);
    });
  }

  /** Also volumes and network interfaces without an instance, so that the sweep finds them. */
  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    return this.#with(async (ec2, fields) => {
      const parts = await unattachedParts(ec2, tags);
      const machines = (await withTags(ec2, tags))
        .map((instance) => machineOf(instance, fields))
        .filter(({ state }) => state !== 'gone');
      return [...machines, ...halfMade(parts, machines)];
    });
  }

  async find(key: string): Promise<readonly Machine[]> {
    return this.#with(async (ec2, fields) =>
      (await withKey(ec2, key)).map((instance) => ({
        ...machineOf(instance, fields),
        created: created(instance, fields),
      })),
    );
  }

  /**
   * A region has very many images: only what is wanted is looked up, as far as the account's permissions go.
   */
  async offers({ flavor, image }: WantedKind): Promise<AccountOffers> {
    return this.#with(async (ec2, { region, zones }) => {
      const [type, found] = [await ec2.offersType(flavor, zones), await ec2.hasImage(image)];
      const place = zones === undefined ? `region ${region}` : zones.join(', ');
      return {
        refused: {
          flavor: type === false ? `EC2 does not have this instance type in ${place}` : undefined,
          image: found === false ? `EC2 does not have this image in region ${region}` : undefined,
        },
      };
    });
  }

  /** EC2 shows it some minutes after the instance has printed it. */
  async consoleOutput({ key }: MachineInput): Promise<string | undefined> {
    return this.#with(async (ec2) => {
      const id = (await withKey(ec2, key))[0]?.InstanceId;
      return id === undefined ? undefined : ec2.consoleOutput(id);
    });
  }

  async quota({ flavors }: WantedSizes): Promise<AccountQuota> {
    return this.#with((ec2) => accountQuota(ec2, flavors));
  }

  async uploadImage(input: ImageFileInput): Promise<Outcome & { readonly providerImage?: string }> {
    return this.#with((ec2, fields) => uploadImage(ec2, fields, input));
  }

  async listImages(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]> {
    return this.#with((ec2) => listImages(ec2, tags));
  }

  async deleteImage(input: LibraryInput): Promise<Outcome> {
    return this.#with((ec2) => deleteImage(ec2, input));
  }

  async #with<Value>(use: (ec2: Ec2, fields: AwsFields) => Promise<Value>): Promise<Value> {
    const { fields } = this;
    const ec2 = new Ec2(fields, this.signal, this.calls);
    try {
      return await use(ec2, fields);
    } finally {
      ec2.close();
    }
  }
}

function hasEnded({ state }: Machine): boolean {
  return state === 'deleting' || state === 'gone';
}

async function isTerminated(ec2: Ec2, id: string): Promise<boolean> {
  const change = await ec2.terminate(id);
  if (change === undefined || change.CurrentState?.Name === 'terminated') return true;
  // The answer may contain the state before termination; an instance missing now may reappear.
  return (await ec2.describeOne(id))?.State?.Name === 'terminated';
}

function created(
  { InstanceId = '' }: Instance,
  { user }: AwsFields,
): { readonly providerid: string; readonly 'ssh-auth': { readonly user: string } } {
  return { providerid: InstanceId, 'ssh-auth': { user } };
}

function withKey(ec2: Ec2, key: string): Promise<readonly Instance[]> {
  return withTags(ec2, { [tagNames.key]: key });
}

async function withTags(ec2: Ec2, tags: Readonly<Record<string, string>>): Promise<readonly Instance[]> {
  const found = await ec2.describe({
    Filters: [...tagFilters(tags), { Name: 'instance-state-name', Values: [...livingStates] }],
    MaxResults: 1_000,
  });
  return found.filter((instance) => hasTags(tagsOf(instance), tags));
}

function deleted(kind: 'Invalid' | 'MachineFailed', key: string, instance: Instance): PluginError {
  return new PluginError(
    kind,
    `instance ${instance.InstanceId ?? ''} of key ${key} was terminated (${reasonOf(instance)}). Replace the node.`,
  );
}
