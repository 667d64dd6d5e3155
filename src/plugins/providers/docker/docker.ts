import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../../model/json.js';
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
import { sshAuthOf } from '../../provider-base/machines.js';
import { refusalOf } from '../../provider-base/offers.js';
import { isHostKey } from '../../known-hosts.js';
import { DockerApi, type Answer } from './api.js';
import { containerName, limitsOf, makeContainer, readSingleFile } from './container.js';
import { hostQuota, sizesOf } from './quota.js';
import type { DockerFields } from './field-types.js';
import { deleteImage, listImages, requireImage, uploadImage } from './images.js';
import { createdSchema, detailsSchema, listSchema, machineOf, placeOf, type Details } from './machines.js';

/** Wait before the next check, in ms. */
const retryMs = 300;

/** How often a name that is taken is looked for while its container is being made. */
const mostTries = 10;

/** How a daemon says that a name is taken: Docker with 409, Podman with 500. */
const nameTaken = /already in use|already exists|name .* in use/i;

/** Containers with an SSH server, of Docker or Podman. */
export class DockerProvider extends Provider<DockerFields> implements Partial<ProviderAbilities> {
  override async create(input: CreateInput): Promise<TaskResult> {
    const fields = this.fields;
    const api = this.#api(fields);
    const id = await this.#createOnce(api, input, fields);
    const { status } = await start(api, id);
    if (status !== 304) this.log.info(`container ${id.slice(0, 12)} is started`, { providerid: id });
    return { result: created(id, fields) };
  }

  override async confirm({ providerid, key }: MachineInput): Promise<TaskResult> {
    const fields = this.fields;
    const details = await inspect(this.#api(fields), providerid ?? containerName(key));
    if (details === undefined)
      throw notReady(`container ${providerid ?? `of key ${key}`} does not exist`, retryMs);
    requireOwn(details, key);
    const {
      Id: id,
      State: { Status, ExitCode },
    } = details;
    const { state } = machineOf(details, fields);
    const what = `container ${id.slice(0, 12)}`;
    if (state === 'stopped' && ExitCode !== 0 && ExitCode < 128) {
      throw new PluginError(
        'MachineFailed',
        `${what} exited with code ${ExitCode}. Does its image have an SSH server? See its log: docker logs ${id.slice(0, 12)}`,
      );
    }
    requireRunning({ what, state, shown: Status }, retryMs);
    const place = placeOf(details, fields);
    if (place === undefined)
      throw notReady(`${what} has no ${fields.reachBy === 'port' ? 'port' : 'address'} yet`, retryMs);
    const hostKeys = await this.#hostKeys(id, fields);
    return {
      result: {
        ipaddress: place.host,
        'ssh-port': place.port,
        'ssh-host-key': hostKeys,
        'ssh-auth': sshAuthOf(fields.user, fields.privateKey),
      },
    };
  }

  override async delete({ providerid, key }: MachineInput): Promise<void> {
    const api = this.#api(this.fields);
    const details = await inspect(api, providerid ?? containerName(key));
    if (details === undefined) return;
    requireOwn(details, key);
    const { Id: id } = details;
    const { status } = await api.call({
      method: 'DELETE',
      path: `/containers/${encodeURIComponent(id)}?force=true&v=true`,
      also: [404, 409],
    });
    // 409: it is being removed already.
    if (status === 409) throw notReady(`container ${id.slice(0, 12)} is being removed`, retryMs);
  }

  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    const fields = this.fields;
    const api = this.#api(fields);
    const filters = JSON.stringify({
      label: Object.entries(tags).map(([name, value]) => `${name}=${value}`),
    });
    const found = await api.read(listSchema, {
      method: 'GET',
      path: `/containers/json?all=true&filters=${encodeURIComponent(filters)}`,
    });
    const details = await Promise.all(found.map(({ Id }) => inspect(api, Id)));
    return details
      .flatMap((one) => (one === undefined ? [] : [machineOf(one, fields)]))
      .filter(({ state }) => state !== 'gone');
  }

  async find(key: string): Promise<readonly Machine[]> {
    const fields = this.fields;
    // One that was never started is what a cut CREATE left.
    return (await this.list({ [tagNames.key]: key })).map((machine) =>
      machine.state === 'starting' ? machine : { ...machine, created: created(machine.providerid, fields) },
    );
  }

  /** A flavor follows a form, and images need not have names: only what is wanted is looked at. */
  async offers({ flavor, image }: WantedKind): Promise<AccountOffers> {
    const api = this.#api(this.fields);
    return {
      refused: {
        flavor: await refusalOf(() => limitsOf(flavor)),
        image: await refusalOf(() => requireImage(api, image)),
      },
    };
  }

  /**
   * The memory of the host. Processors are not counted: containers may be given more of them than there are.
   */
  async quota({ flavors }: WantedSizes): Promise<AccountQuota> {
    const api = this.#api(this.fields);
    return { ...(await hostQuota(api)), sizes: sizesOf(flavors) };
  }

  /** What the container's process has printed. */
  async consoleOutput({ providerid, key }: MachineInput): Promise<string | undefined> {
    const api = this.#api(this.fields);
    const details = await inspect(api, providerid ?? containerName(key));
    if (details === undefined) return undefined;
    requireOwn(details, key);
    const path = `/containers/${encodeURIComponent(details.Id)}/logs?stdout=true&stderr=true&tail=500`;
    const { body } = await api.call({ method: 'GET', path });
    return withoutHeaders(body).toString('utf8');
  }

  async uploadImage(input: ImageFileInput): Promise<Outcome & { readonly providerImage?: string }> {
    return uploadImage(this.#api(this.fields), input);
  }

  async listImages(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]> {
    return listImages(this.#api(this.fields), tags);
  }

  async deleteImage(input: LibraryInput): Promise<Outcome> {
    return deleteImage(this.#api(this.fields), input);
  }

  /** The container of this key: a new one, or the one that an earlier attempt made. */
  async #createOnce(api: DockerApi, input: CreateInput, fields: DockerFields): Promise<string> {
    const name = containerName(input.key);
    try {
      const { Id } = await api.read(createdSchema, {
        method: 'POST',
        path: `/containers/create?name=${encodeURIComponent(name)}`,
        body: makeContainer(input, fields),
      });
      return Id;
    } catch (error) {
      if (!(error instanceof PluginError) || !nameTaken.test(error.message)) throw error;
      for (let tried = 0; tried < mostTries; tried += 1) {
        const details = await inspect(api, name);
        if (details !== undefined) {
          requireOwn(details, input.key);
          return details.Id;
        }
        // The name is taken before the container can be seen.
        await pause(retryMs, undefined, { signal: this.signal });
      }
      throw new PluginError('Retryable', `the name ${name} is in use, but no container has it`, {
        cause: error,
      });
    }
  }

  /** As the daemon shows them: the first login needs no trust on first use. */
  async #hostKeys(id: string, fields: DockerFields): Promise<readonly string[]> {
    const files = await Promise.all(
      ['ed25519', 'ecdsa'].map((type) =>
        this.#api(fields).call({
          method: 'GET',
          path: `/containers/${encodeURIComponent(id)}/archive?path=/etc/ssh/ssh_host_${type}_key.pub`,
          also: [404],
        }),
      ),
    );
    // Ours makes them before its server starts, and this one last.
    if (fields.command === undefined && files[0]?.status === 404)
      throw notReady(`container ${id.slice(0, 12)} has not made its host keys yet`, retryMs);
    const keys = files
      .flatMap(({ status, body }) =>
        status === 404 ? [] : [readSingleFile(body)?.split(/\s+/).slice(0, 2).join(' ') ?? ''],
      )
      .filter(isHostKey);
    if (keys.length === 0)
      throw notReady(`container ${id.slice(0, 12)} has no host key in /etc/ssh yet`, retryMs);
    return keys;
  }

  #api(fields: DockerFields): DockerApi {
    return new DockerApi(fields, this.signal, this.calls);
  }
}

function created(id: string, { user }: DockerFields): JsonObject {
  return { providerid: id, 'ssh-auth': { user } };
}

/** After Capacity the engine assumes that nothing was made, so the container is removed. */
async function start(api: DockerApi, id: string): Promise<Answer> {
  try {
    return await api.call({
      method: 'POST',
      path: `/containers/${encodeURIComponent(id)}/start`,
      also: [304],
    });
  } catch (error) {
    if (error instanceof PluginError && error.kind === 'Capacity')
      await api.call({
        method: 'DELETE',
        path: `/containers/${encodeURIComponent(id)}?force=true&v=true`,
        also: [404, 409],
      });
    throw error;
  }
}

function inspect(api: DockerApi, id: string): Promise<Details | undefined> {
  return api.find(detailsSchema, `/containers/${encodeURIComponent(id)}/json`);
}

/** An id or a name finds any container of the daemon; the label says whether it is the node's. */
function requireOwn({ Id, Config: { Labels } }: Details, key: string): void {
  requireKey({ providerid: Id.slice(0, 12), key: Labels[tagNames.key] }, key);
}

/** The output of a container without a terminal comes in frames: stream, three zeros, length, content. */
function withoutHeaders(body: Buffer): Buffer {
  const contents: Buffer[] = [];
  let at = 0;
  while (at + 8 <= body.length && body.readUInt32BE(at) >>> 24 <= 2 && body.readUIntBE(at + 1, 3) === 0) {
    const end = at + 8 + body.readUInt32BE(at + 4);
    contents.push(body.subarray(at + 8, end));
    at = end;
  }
  return Buffer.concat([...contents, body.subarray(at)]);
}
