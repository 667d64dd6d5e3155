import type { BlockDeviceMapping, RunInstancesCommandInput, Tag } from '@aws-sdk/client-ec2';
import { makeHostKey } from '../../cloud-init/host-key.js';
import { makeUserData } from '../../cloud-init/user-data.js';
import type { CreateInput } from '../../contract.js';
import { placeOf } from '../../provider-base/places.js';
import type { AwsFields } from './field-types.js';

/** Contains the machine's host key, so that CONFIRM knows it even after the account's secret changed. */
export const hostKeyTag = 'heddle-host-key';

/**
 * Where the machine is requested: each incarnation in one place, the next one in the next. Going through the
 * places in one CREATE could make two machines: a token holds for one zone only, and an attempt whose answer
 * was lost may have got one in a zone that a later attempt comes to last.
 */
export function choosePlace(
  { subnets, zones }: Pick<AwsFields, 'subnets' | 'zones'>,
  key: string,
): { readonly SubnetId?: string; readonly zone?: string } {
  return { SubnetId: placeOf(subnets ?? [], key), zone: placeOf(zones ?? [], key) };
}

/**
 * What is asked of EC2 for a machine. The same input gives the same request, or its token would not match.
 */
export function makeLaunch(
  { flavor, image, hostname, key, token, tags }: CreateInput,
  fields: AwsFields,
  rootDevice?: string,
): RunInstancesCommandInput {
  const { SubnetId, zone } = choosePlace(fields, key);
  const {
    hostKeySecret,
    publicKeys = [],
    userData,
    keyName,
    securityGroups,
    publicAddress,
    instanceProfile,
    spot,
    spotMaxPrice,
  } = fields;
  const hostKey = hostKeySecret === undefined ? undefined : makeHostKey(hostKeySecret, key);
  const labels = tagList({
    Name: hostname,
    ...tags,
    ...(hostKey === undefined ? {} : { [hostKeyTag]: hostKey.public }),
  });
  const network = {
    SubnetId,
    SecurityGroupIds: securityGroups === undefined ? undefined : [...securityGroups],
  };
  const { SecurityGroupIds: Groups, ...subnet } = network;
  return {
    ClientToken: token,
    MinCount: 1,
    MaxCount: 1,
    InstanceType: flavor as NonNullable<RunInstancesCommandInput['InstanceType']>,
    ImageId: image,
    TagSpecifications: [
      { ResourceType: 'instance', Tags: labels },
      { ResourceType: 'volume', Tags: labels },
      { ResourceType: 'network-interface', Tags: labels },
    ],
    UserData: Buffer.from(makeUserData({ hostname, hostKey, publicKeys, own: userData })).toString('base64'),
    MetadataOptions: { HttpEndpoint: 'enabled', HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
    // Powered off from inside, it is still a machine of ours.
    InstanceInitiatedShutdownBehavior: 'stop',
    KeyName: keyName,
    IamInstanceProfile: instanceProfile === undefined ? undefined : { Name: instanceProfile },
    Placement: zone === undefined ? undefined : { AvailabilityZone: zone },
    ...(publicAddress === undefined
      ? network
      : {
          NetworkInterfaces: [
            {
              DeviceIndex: 0,
              AssociatePublicIpAddress: publicAddress,
              DeleteOnTermination: true,
              ...subnet,
              ...(Groups === undefined ? {} : { Groups }),
            },
          ],
        }),
    ...(rootDevice === undefined ? {} : { BlockDeviceMappings: [rootVolume(rootDevice, fields)] }),
    ...(spot === true
      ? {
          InstanceInitiatedShutdownBehavior: 'terminate' as const,
          InstanceMarketOptions: {
            MarketType: 'spot' as const,
            SpotOptions: {
              SpotInstanceType: 'one-time' as const,
              InstanceInterruptionBehavior: 'terminate' as const,
              MaxPrice: spotMaxPrice,
            },
          },
        }
      : {}),
  };
}

/** Whether the request says anything of the root volume, for which it must know the image's name for it. */
export function asksForRootVolume({ rootVolumeGb, rootVolumeType, rootVolumeEncrypted }: AwsFields): boolean {
  return rootVolumeGb !== undefined || rootVolumeType !== undefined || rootVolumeEncrypted !== undefined;
}

function rootVolume(
  DeviceName: string,
  { rootVolumeGb, rootVolumeType, rootVolumeEncrypted }: AwsFields,
): BlockDeviceMapping {
  return {
    DeviceName,
    Ebs: {
      DeleteOnTermination: true,
      VolumeSize: rootVolumeGb,
      VolumeType: rootVolumeType === undefined ? undefined : (rootVolumeType as 'gp3'),
      Encrypted: rootVolumeEncrypted,
    },
  };
}

function tagList(tags: Readonly<Record<string, string>>): Tag[] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}
