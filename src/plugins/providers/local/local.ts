import { z } from 'zod';
import {
  Provider,
  PluginError,
  type AccountOffers,
  type AccountQuota,
  type CreateInput,
  type ImageFileInput,
  type ImageInput,
  type Knowledge,
  type LibraryInput,
  type Machine,
  type MachineInput,
  type Outcome,
  type PowerReading,
  type SizeReading,
  type TaskResult,
  type UploadedImage,
  type WantedSizes,
  type ProviderAbilities,
} from '../../contract.js';
import { notReady, requireRunning } from '../../provider-base/confirm.js';
import type { LocalFields } from './field-types.js';
import {
  createdSchema,
  detailsSchema,
  LocalApi,
  flavorsSchema,
  imagesSchema,
  quotaSchema,
  type Limits,
  type MachineSummary,
} from './api.js';
import { downloadImage, listImages, uploadImage } from './images.js';
import { imagePath, LocalVerbs, machinePath } from './verbs.js';

const consoleSchema = z.object({ text: z.string().optional() });

/** Wait between two checks of a machine that boots or is being deleted, in ms. */
const retryMs = 300;

/** Gets machines from Heddle's own machine service (src/local), by its HTTP API alone. */
export class LocalProvider extends Provider<LocalFields> implements Partial<ProviderAbilities> {
  override async create(input: CreateInput): Promise<TaskResult> {
    const { key, token, hostname, flavor, image, tags } = input;
    const { publicKeys } = this.fields;
    const request = { key, token, hostname, flavor, image, tags, publicKeys };
    const created = await this.#api().read(createdSchema, '/v1/machines', request);
    if (created.state === 'gone')
      throw new PluginError(
        'Invalid',
        `machine ${created.id} of key ${key} was deleted, and a key never gets a second machine. Replace the node.`,
      );
    this.log.info(`machine ${created.id} is being created`, { providerid: created.id });
    return {
      result: {
        providerid: created.id,
        ...(created.user === undefined ? {} : { 'ssh-auth': { user: created.user } }),
      },
    };
  }

  override async confirm(input: MachineInput): Promise<TaskResult> {
    const id = input.providerid ?? (await this.#idOf(input.key));
    const answer = await this.#api().call(detailsSchema, { method: 'GET', path: machinePath(id, input.key) });
    const what = `machine ${id}`;
    if (!answer.found) {
      if (answer.gone) requireRunning({ what, state: 'gone' }, retryMs);
      throw notReady(`${what} is not visible yet`, retryMs);
    }
    const machine = answer.body;
    requireRunning(
      { what, state: machineOf(machine).state, shown: machine.state, why: machine.reason },
      retryMs,
    );
    return {
      result: {
        providerid: machine.id,
        ipaddress: machine.address,
        'ssh-port': machine.port,
        'ssh-auth': { user: machine.user, password: machine.password },
        'ssh-host-key': machine.hostKey,
      },
    };
  }

  /** Only sandboxes have one. */
  async consoleOutput(input: MachineInput): Promise<string | undefined> {
    const id = input.providerid ?? (await this.#idOf(input.key));
    const path = machinePath(id, input.key, '/console');
    const answer = await this.#api().call(consoleSchema, { method: 'GET', path });
    return answer.found ? answer.body.text : undefined;
  }

  /** Asks the service to delete rather than whether the machine is there: only its refusal proves absence. */
  override async delete(input: MachineInput): Promise<void> {
    const ids =
      input.providerid === undefined
        ? (await this.#withKey(input.key)).map((machine) => machine.id)
        : [input.providerid];
    const answers = await Promise.all(
      ids.map((id) => this.#api().call(z.unknown(), { method: 'DELETE', path: machinePath(id, input.key) })),
    );
    if (answers.some((answer) => answer.found))
      throw notReady(`Machine ${ids.join(', ')} is being deleted.`, retryMs);
  }

  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    const machines = await this.#api().list(
      Object.entries(tags).map(([name, value]) => ['tag', `${name}=${value}`]),
    );
    return machines.map(machineOf);
  }

  /** Each with CREATE's result; only describing a machine returns its login. */
  async find(key: string): Promise<readonly Machine[]> {
    const found = (await this.#withKey(key)).map(machineOf);
    return Promise.all(
      found.map(async (machine) => {
        const path = machinePath(machine.providerid, key);
        const answer = await this.#api().call(detailsSchema, { method: 'GET', path });
        // It was deleted meanwhile.
        if (!answer.found) return { ...machine, state: 'gone' as const };
        const { id, user } = answer.body;
        return { ...machine, created: { providerid: id, 'ssh-auth': { user } } };
      }),
    );
  }

  /** What the service lets all machines take together, and what they take, ours or not. */
  async quota({ flavors: wanted }: WantedSizes): Promise<AccountQuota> {
    const api = this.#api();
    const { limits, use } = await api.read(quotaSchema, '/v1/quota');
    const { flavors } = await api.read(flavorsSchema, '/v1/flavors');
    const sizes = wanted.flatMap((flavor) => {
      const size = flavors[flavor];
      return size === undefined ? [] : [[flavor, { cores: size.cores, memory: size.memoryMb }] as const];
    });
    return { limits: amountsOf(limits), used: amountsOf(use), sizes: Object.fromEntries(sizes) };
  }

  async offers(): Promise<AccountOffers> {
    const api = this.#api();
    const { flavors } = await api.read(flavorsSchema, '/v1/flavors');
    const { images } = await api.read(imagesSchema, '/v1/images');
    return { flavors: Object.keys(flavors), images };
  }

  async powerStatus(machine: MachineInput): Promise<PowerReading> {
    return (await this.#verbs(machine)).powerStatus();
  }

  async powerOn(machine: MachineInput): Promise<Outcome> {
    return (await this.#verbs(machine)).powerOn();
  }

  async powerOff(machine: MachineInput): Promise<Outcome> {
    return (await this.#verbs(machine)).powerOff();
  }

  async assignedImage(machine: MachineInput): Promise<string | undefined> {
    return (await this.#verbs(machine)).assignedImage();
  }

  async imageExists(input: ImageInput): Promise<Knowledge> {
    return (await this.#verbs(input)).imageExists(input.providerImage);
  }

  async imageSize(input: ImageInput): Promise<SizeReading> {
    return (await this.#verbs(input)).imageSize(input.providerImage);
  }

  async load(input: ImageInput): Promise<Outcome> {
    return (await this.#verbs(input)).job('load', input);
  }

  async capture(input: ImageInput): Promise<Outcome> {
    return (await this.#verbs(input)).job('capture', input);
  }

  async uploadImage(input: ImageFileInput): Promise<Outcome> {
    return uploadImage(this.#api(), input);
  }

  async listImages(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]> {
    return listImages(this.#api(), tags);
  }

  async downloadImage(input: ImageFileInput): Promise<Outcome> {
    return downloadImage(this.#api(), input, this.signal);
  }

  async deleteImage({ providerImage }: LibraryInput): Promise<Outcome> {
    await this.#api().call(z.unknown(), { method: 'DELETE', path: imagePath(providerImage) });
    return { answer: 'done' };
  }

  async #verbs(machine: MachineInput): Promise<LocalVerbs> {
    return new LocalVerbs(this.#api(), this.signal, {
      id: machine.providerid ?? (await this.#idOf(machine.key)),
      key: machine.key,
    });
  }

  #withKey(key: string): Promise<readonly MachineSummary[]> {
    return this.#api().list([['key', key]]);
  }

  async #idOf(key: string): Promise<string> {
    const [machine] = await this.#withKey(key);
    if (machine === undefined)
      throw notReady(`No machine of key ${key} is visible at the machine service yet.`, retryMs);
    return machine.id;
  }

  #api(): LocalApi {
    const { endpoint, apiKey } = this.fields;
    return new LocalApi({ endpoint, apiKey, signal: this.signal, calls: this.calls });
  }
}

function amountsOf({ machines, cores, memoryMb }: Limits): AccountQuota['limits'] {
  return { nodes: machines, cores, memory: memoryMb };
}

function machineOf(machine: MachineSummary): Machine {
  const states: Readonly<Partial<Record<MachineSummary['state'], Machine['state']>>> = {
    pending: 'starting',
    booting: 'starting',
    running: 'running',
    stopped: 'stopped',
    deleting: 'deleting',
  };
  const state = states[machine.state] ?? 'failed';
  return {
    providerid: machine.id,
    key: machine.key,
    tags: machine.tags,
    state,
    createdAt: machine.createdAt,
    address: machine.address,
  };
}
