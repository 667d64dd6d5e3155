import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import type { AwsFields } from '../../../../src/plugins/providers/aws/field-types.js';
import { conflictsOf } from '../../../../src/plugins/providers/aws/fields.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { asksForRootVolume, choosePlace, makeLaunch } from '../../../../src/plugins/providers/aws/launch.js';

const input = {
  flavor: 't3.small',
  image: 'ami-1',
  hostname: 'web-app-1',
  key: 'uid/app-1/3',
  token: 'a'.repeat(64),
  tags: { 'heddle-key': 'uid/app-1/3', 'heddle-installation': 'x' },
  fields: {},
};
const fields = (more: JsonObject = {}) =>
  fieldsOf<AwsFields>('aws', { region: 'eu-central-1', ...more }, conflictsOf);
const launch = (more: JsonObject = {}, rootDevice?: string) => makeLaunch(input, fields(more), rootDevice);

describe('requests to EC2', () => {
  it('contain one instance with its token, with tags from the start, and IMDSv2 only', () => {
    const tags = [
      { Key: 'Name', Value: 'web-app-1' },
      { Key: 'heddle-key', Value: 'uid/app-1/3' },
      { Key: 'heddle-installation', Value: 'x' },
    ];
    expect(launch()).toMatchObject({
      ClientToken: input.token,
      MinCount: 1,
      MaxCount: 1,
      InstanceType: 't3.small',
      ImageId: 'ami-1',
      TagSpecifications: [
        { ResourceType: 'instance', Tags: tags },
        { ResourceType: 'volume', Tags: tags },
        { ResourceType: 'network-interface', Tags: tags },
      ],
      MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
    });
  });

  it('repeated requests are equal, so that the client token matches', () => {
    const all = {
      hostKeySecret: 'a secret of a test that is long enough',
      publicKeys: ['ssh-ed25519 AAAA me'],
      userData: '#!/bin/sh\ntrue',
      spot: true,
      subnets: ['subnet-1', 'subnet-2'],
    };
    expect(launch(all)).toEqual(launch(all));
  });

  it('carry the host key in the user data, and its public half in a tag', () => {
    const { UserData = '', TagSpecifications = [] } = launch({
      hostKeySecret: 'a secret of a test that is long enough',
    });
    const tag = TagSpecifications[0]?.Tags?.find(({ Key }) => Key === 'heddle-host-key')?.Value ?? 'none';
    expect(tag).toMatch(/^ssh-ed25519 /);
    expect(Buffer.from(UserData, 'base64').toString()).toContain(tag);
  });

  it('contain network, key pair, profile and root volume from the fields', () => {
    expect(
      launch({ subnets: ['subnet-1'], securityGroups: ['sg-1'], keyName: 'k', instanceProfile: 'p' }),
    ).toMatchObject({
      SubnetId: 'subnet-1',
      SecurityGroupIds: ['sg-1'],
      KeyName: 'k',
      IamInstanceProfile: { Name: 'p' },
    });
    const open = launch({ subnets: ['subnet-1'], securityGroups: ['sg-1'], publicAddress: true });
    expect(open.NetworkInterfaces).toEqual([
      {
        DeviceIndex: 0,
        AssociatePublicIpAddress: true,
        DeleteOnTermination: true,
        SubnetId: 'subnet-1',
        Groups: ['sg-1'],
      },
    ]);
    expect([open.SubnetId, open.SecurityGroupIds]).toEqual([undefined, undefined]);
    const volume = { rootVolumeGb: 30, rootVolumeType: 'gp3', rootVolumeEncrypted: true };
    expect(asksForRootVolume(fields(volume))).toBe(true);
    expect(asksForRootVolume(fields())).toBe(false);
    expect(launch(volume, '/dev/xvda').BlockDeviceMappings).toEqual([
      {
        DeviceName: '/dev/xvda',
        Ebs: { DeleteOnTermination: true, VolumeSize: 30, VolumeType: 'gp3', Encrypted: true },
      },
    ]);
  });

  it('a one-time spot instance is requested if the fields say so', () => {
    expect(launch({ spot: true, spotMaxPrice: '0.05' })).toMatchObject({
      InstanceInitiatedShutdownBehavior: 'terminate',
      InstanceMarketOptions: {
        MarketType: 'spot',
        SpotOptions: {
          SpotInstanceType: 'one-time',
          InstanceInterruptionBehavior: 'terminate',
          MaxPrice: '0.05',
        },
      },
    });
    expect(launch().InstanceMarketOptions).toBeUndefined();
  });

  it("name one zone, chosen by the machine's key: the next node and the next incarnation use the next", () => {
    const subnets = ['a', 'b', 'c'];
    expect(
      [1, 2, 3, 4].map((incarnation) =>
        choosePlace({ subnets, zones: undefined }, `uid/app-1/${incarnation}`),
      ),
    ).toEqual(['a', 'b', 'c', 'a'].map((SubnetId) => ({ SubnetId })));
    expect(
      [1, 2, 3, 4].map((node) => choosePlace({ subnets, zones: undefined }, `uid/app-${node}/1`)),
    ).toEqual(['a', 'b', 'c', 'a'].map((SubnetId) => ({ SubnetId })));
    expect(choosePlace({ subnets: undefined, zones: ['x', 'y'] }, 'uid/app-1/2')).toEqual({ zone: 'y' });
    expect(choosePlace({ subnets: undefined, zones: ['x', 'y'] }, 'uid/single/2')).toEqual({ zone: 'y' });
    expect(choosePlace({ subnets: undefined, zones: undefined }, 'uid/app-1/2')).toEqual({});
  });
});

describe('fields of provider aws', () => {
  it.each<readonly [JsonObject, RegExp]>([
    [{ accessKeyId: 'AKIA' }, /secretAccessKey: is missing\. It is required when accessKeyId is given/],
    [{ secretAccessKey: 'x' }, /accessKeyId: is missing\. It is required when secretAccessKey is given/],
    [{ sessionToken: 'x' }, /sessionToken: requires accessKeyId/],
    [{ subnets: ['a'], zones: ['b'] }, /subnets and zones exclude each other/],
    [{ spotMaxPrice: '0.1' }, /spotMaxPrice: requires spot: true/],
    [{ spot: true, spotMaxPrice: 'cheap' }, /spotMaxPrice: "cheap" does not match .*Dollars per hour/],
    [{ region: 'Frankfurt!' }, /region: "Frankfurt!" does not match .*such as eu-central-1/],
    [{ endpoint: 'ec2.example.com' }, /endpoint: .*URL of another service/],
    [{ subnets: [] }, /subnets: .* is empty/],
    [{ rootVolumeType: 'gp4' }, /rootVolumeType: /],
    [{ rootVolumeGb: 0 }, /rootVolumeGb: /],
  ])('are refused with their place: %j', (more, words) => {
    expect(() => fields(more)).toThrow(words);
  });

  it('errors do not quote fields, since they may be secret', () => {
    expect(() => fields({ accessKeyId: 'AKIASECRET', secretAccessKey: 'AKIASECRET', spot: 'yes' })).toThrow(
      /^(?!.*AKIASECRET).*spot: /,
    );
  });
});
