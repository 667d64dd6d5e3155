import { createHash } from 'node:crypto';
import { z } from 'zod';
import { tagNames } from '../../../model/names.js';
import { makeHostKey } from '../../cloud-init/host-key.js';
import { makeUserData } from '../../cloud-init/user-data.js';
import {
  Provider,
  requireKey,
  takeSteps,
  undoSteps,
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
import { refusalOf } from '../../provider-base/offers.js';
import { placeOf } from '../../provider-base/places.js';
import type { OpenStackFields } from './field-types.js';
import { conflictsOf } from './fields.js';
import { deleteImage, listImages, uploadImage } from './images.js';
import { flavorId, flavorSizes, imageId, projectQuota, requireImage } from './kinds.js';
import { addressOf, detailsSchema, machineOf, novaTags, pageSchema, type Server } from './machines.js';
import { allParts, isPart, partsOf, partsWithTags, type Subject } from './parts.js';
import { Session } from './session.js';

/** Wait before the next check, in ms. */
const retryMs = 3_000;

/**
 * Metadata key of the machine's host key, so that CONFIRM knows it even after the account's secret changed.
 */
const hostKeyName = 'heddle-host-key';

const interfacesSchema = z.object({
  interfaceAttachments: z.array(
    z.object({ net_id: z.string(), fixed_ips: z.array(z.object({ ip_address: z.string() })) }),
  ),
});

const consoleSchema = z.object({ output: z.string() });
/** Lines of a server's console that are read: its last. */
const consoleLines = 500;

/** Servers of an OpenStack cloud. */
export class OpenStackProvider extends Provider<OpenStackFields> implements Partial<ProviderAbilities> {
  static checkFields = conflictsOf;

  override async create(input: CreateInput): Promise<TaskResult> {
    const fields = this.fields;
    const session = new Session(fields, this.signal, this.calls);
    const subject: Subject = {
      session,
      fields,
      key: input.key,
      tags: input.tags,
      partName: partName(input.key),
      servers: async () => (await serversOf(session, { [tagNames.key]: input.key })).map(({ id }) => id),
      request: async () =>
        makeServer(input, fields, {
          flavorRef: await flavorId(session, input.flavor),
          imageRef: await imageId(session, input.image),
        }),
    };
    const { providerid = '', 'ssh-auth': auth = {} } = await takeSteps(partsOf(fields), subject, this.record);
    this.log.info('the server is being created', { providerid });
    return { result: { providerid, 'ssh-auth': auth } };
  }

  override async confirm({ providerid, key }: MachineInput): Promise<TaskResult> {
    const fields = this.fields;
    const session = new Session(fields, this.signal, this.calls);
    const server =
      providerid === undefined
        ? (await serversOf(session, { [tagNames.key]: key }))[0]
        : await serverOf(session, providerid);
    if (server === undefined)
      throw notReady(`server ${providerid ?? `of key ${key}`} is not visible yet`, retryMs);
    const { id, status, fault, metadata } = server;
    requireKey({ providerid: id, key: metadata[tagNames.key] }, key);
    const what = `server ${id}`;
    const state =
      server['OS-EXT-STS:task_state'] === 'deleting' ? 'deleting' : machineOf(server, fields).state;
    requireRunning({ what, state, shown: status, why: fault?.message }, retryMs);
    const address = addressOf(server, fields) ?? (await firstNetworkAddress(session, id, fields));
    if (address === undefined)
      throw notReady(
        `server ${id} has no ${fields.floatingNetwork === undefined ? 'address' : 'floating address'} yet`,
        retryMs,
      );
    const hostKey = metadata[hostKeyName];
    return {
      result: {
        providerid: id,
        ipaddress: address,
        'ssh-port': fields.sshPort,
        'ssh-auth': sshAuthOf(fields.user, fields.privateKey),
        ...(hostKey === undefined ? {} : { 'ssh-host-key': hostKey }),
      },
    };
  }

  override async delete({ providerid, key }: MachineInput): Promise<void> {
    const fields = this.fields;
    const session = new Session(fields, this.signal, this.calls);
    const isHalfMade = providerid !== undefined && isPart(providerid);
    const servers = async (): Promise<readonly string[]> => {
      const found =
        providerid === undefined || isHalfMade
          ? await serversOf(session, { [tagNames.key]: key })
          : [(await serverOf(session, providerid)) ?? []].flat();
      for (const { id, metadata } of found) requireKey({ providerid: id, key: metadata[tagNames.key] }, key);
      return found.map(({ id }) => id);
    };
    const subject: Subject = { session, fields, key, partName: partName(key), servers };
    await undoSteps(isHalfMade ? allParts : partsOf(fields), subject, retryMs);
  }

  /** Also ports and floating addresses without a server, so that the sweep finds them. */
  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    const fields = this.fields;
    const session = new Session(fields, this.signal, this.calls);
    const parts = await partsWithTags(session, fields, tags);
    const machines = await this.#machines(session, fields, tags);
    return [...machines, ...halfMade(parts, machines)];
  }

  async find(key: string): Promise<readonly Machine[]> {
    const fields = this.fields;
    const session = new Session(fields, this.signal, this.calls);
    return (await this.#machines(session, fields, { [tagNames.key]: key })).map((machine) => ({
      ...machine,
      created: { providerid: machine.providerid, 'ssh-auth': { user: fields.user } },
    }));
  }

  /** What Nova lets the project have. Limits of -1 are none. */
  async quota({ flavors }: WantedSizes): Promise<AccountQuota> {
    const session = this.#session();
    return { ...(await projectQuota(session)), sizes: await flavorSizes(session, flavors) };
  }

  /** A cloud may have very many images: only what is wanted is looked up. */
  async offers({ flavor, image }: WantedKind): Promise<AccountOffers> {
    const session = this.#session();
    return {
      refused: {
        flavor: await refusalOf(() => flavorId(session, flavor)),
        image: await refusalOf(() => requireImage(session, image)),
      },
    };
  }

  async consoleOutput({ key }: MachineInput): Promise<string | undefined> {
    const session = this.#session();
    const [server] = await serversOf(session, { [tagNames.key]: key });
    if (server === undefined) return undefined;
    const { output } = await session.read(consoleSchema, 'compute', {
      method: 'POST',
      path: `/servers/${server.id}/action`,
      body: { 'os-getConsoleOutput': { length: consoleLines } },
    });
    return output;
  }

  async uploadImage(input: ImageFileInput): Promise<Outcome & { readonly providerImage?: string }> {
    return uploadImage(this.#session(), input);
  }

  async listImages(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]> {
    return listImages(this.#session(), tags);
  }

  async deleteImage(input: LibraryInput): Promise<Outcome> {
    return deleteImage(this.#session(), input);
  }

  #session(): Session {
    return new Session(this.fields, this.signal, this.calls);
  }

  async #machines(
    session: Session,
    fields: OpenStackFields,
    tags: Readonly<Record<string, string>>,
  ): Promise<readonly Machine[]> {
    const servers = await serversOf(session, tags);
    return servers.map((server) => machineOf(server, fields)).filter(({ state }) => state !== 'gone');
  }
}

/** The body of the creating call, but for its networks. */
export function makeServer(
  input: CreateInput,
  fields: OpenStackFields,
  kind: { readonly flavorRef: string; readonly imageRef: string },
): object {
  const { hostname, key, tags } = input;
  const {
    hostKeySecret,
    publicKeys = [],
    userData,
    keyName,
    securityGroups,
    zones,
    configDrive,
    rootVolumeGb,
  } = fields;
  const hostKey = hostKeySecret === undefined ? undefined : makeHostKey(hostKeySecret, key);
  const zone = placeOf(zones ?? [], key);
  return {
    name: hostname,
    flavorRef: kind.flavorRef,
    tags: novaTags(tags),
    metadata: { ...tags, ...(hostKey === undefined ? {} : { [hostKeyName]: hostKey.public }) },
    user_data: Buffer.from(makeUserData({ hostname, hostKey, publicKeys, own: userData })).toString('base64'),
    ...(rootVolumeGb === undefined
      ? { imageRef: kind.imageRef }
      : {
          block_device_mapping_v2: [
            {
              boot_index: 0,
              uuid: kind.imageRef,
              source_type: 'image',
              destination_type: 'volume',
              volume_size: rootVolumeGb,
              delete_on_termination: true,
            },
          ],
        }),
    key_name: keyName,
    availability_zone: zone,
    config_drive: configDrive,
    security_groups: securityGroups?.map((name) => ({ name })),
  };
}

function partName(key: string): string {
  return `heddle-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
}

async function serverOf(session: Session, id: string): Promise<Server | undefined> {
  return (await session.find(detailsSchema, 'compute', `/servers/${encodeURIComponent(id)}`))?.server;
}

/** All pages. Tags contain hashes of long values, so the results are compared again. */
async function serversOf(
  session: Session,
  tags: Readonly<Record<string, string>>,
): Promise<readonly Server[]> {
  const found: Server[] = [];
  let marker: string | undefined;
  for (;;) {
    const query = new URLSearchParams({
      tags: novaTags(tags).join(','),
      limit: '500',
      ...(marker === undefined ? {} : { marker }),
    });
    const { servers, servers_links: links = [] } = await session.read(pageSchema, 'compute', {
      method: 'GET',
      path: `/servers/detail?${query.toString()}`,
    });
    found.push(...servers);
    marker = servers.at(-1)?.id;
    if (marker === undefined || !links.some(({ rel }) => rel === 'next'))
      return found.filter(({ metadata }) => hasTags(metadata, tags));
  }
}

/** Of several networks the first that the fields name. */
async function firstNetworkAddress(
  session: Session,
  id: string,
  { networks: [network] = [], floatingNetwork }: OpenStackFields,
): Promise<string | undefined> {
  if (network === undefined || floatingNetwork !== undefined) return undefined;
  const { interfaceAttachments } = await session.read(interfacesSchema, 'compute', {
    method: 'GET',
    path: `/servers/${encodeURIComponent(id)}/os-interface`,
  });
  return interfaceAttachments.find(({ net_id: one }) => one === network)?.fixed_ips[0]?.ip_address;
}
