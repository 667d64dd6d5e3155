import type { Filter } from '@aws-sdk/client-ec2';
import { tagNames } from '../../../model/names.js';
import type { Part } from '../../provider-base/half-made.js';
import { hasTags } from '../../provider-base/machines.js';
import type { Ec2 } from './api.js';
import { tagsOf } from './machines.js';

/** Whether `list` gave this id to a machine that has parts but no instance. */
export function isPart(providerid: string): boolean {
  return /^(vol|eni)-/.test(providerid);
}

/** Filters for tags; they interpret * and ?, so results must be compared again. */
export function tagFilters(tags: Readonly<Record<string, string>>): Filter[] {
  return Object.entries(tags).map(([name, value]) => ({ Name: `tag:${name}`, Values: [value] }));
}

/**
 * Volumes and network interfaces that were launched with these tags and are attached to nothing: an image may
 * keep its volumes beyond the instance, and an interrupted launch may leave both.
 */
export async function unattachedParts(
  ec2: Ec2,
  tags: Readonly<Record<string, string>>,
): Promise<readonly Part[]> {
  const volumes = await ec2.volumes(tagFilters(tags));
  const interfaces = await ec2.networkInterfaces(tagFilters(tags));
  return [
    ...volumes
      .filter(({ State }) => State === 'available' || State === 'error')
      .map(({ VolumeId = '', Tags, CreateTime }) => ({
        providerid: VolumeId,
        tags: tagsOf({ Tags }),
        ...(CreateTime === undefined ? {} : { createdAt: CreateTime.toISOString() }),
      })),
    ...interfaces
      .filter(({ Status }) => Status === 'available')
      .map(({ NetworkInterfaceId = '', TagSet }) => ({
        providerid: NetworkInterfaceId,
        tags: tagsOf({ Tags: TagSet }),
      })),
  ].filter((part) => isPart(part.providerid) && hasTags(part.tags, tags));
}

/** Deletes what the instances of this key left. */
export async function deleteParts(ec2: Ec2, key: string): Promise<void> {
  for (const { providerid } of await unattachedParts(ec2, { [tagNames.key]: key }))
    await (providerid.startsWith('vol-')
      ? ec2.deleteVolume(providerid)
      : ec2.deleteNetworkInterface(providerid));
}
