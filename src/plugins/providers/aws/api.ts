import type * as AwsSdk from '@aws-sdk/client-ec2';
import type {
  DescribeInstancesCommandInput,
  DescribeInstanceTypeOfferingsCommandInput,
  EC2Client,
  Filter,
  Image,
  Instance,
  InstanceStateChange,
  InstanceTypeInfo,
  NetworkInterface,
  RegisterImageCommandInput,
  RunInstancesCommandInput,
  Snapshot,
  Volume,
} from '@aws-sdk/client-ec2';
import { z } from 'zod';
import { PluginError, type Calls } from '../../contract.js';
import { codeOf, failureOf } from './failures.js';
import type { AwsFields } from './field-types.js';
import { callSigned, type SignedCall } from './signed-call.js';

type Sdk = typeof AwsSdk;

const quotaSchema = z.object({ Quota: z.object({ Value: z.number() }) });

/** Longest wait for one answer, in ms. */
const answerMs = 20_000;

/** The few calls of EC2 that a machine takes, with their failures in the engine's words. */
export class Ec2 {
  readonly #fields: AwsFields;
  readonly signal: AbortSignal;
  readonly #calls: Calls;
  #client: EC2Client | undefined;

  constructor(fields: AwsFields, signal: AbortSignal, calls: Calls) {
    this.#fields = fields;
    this.signal = signal;
    this.#calls = calls;
  }

  /** Ends its connections. */
  close(): void {
    this.#client?.destroy();
  }

  async runInstance(input: RunInstancesCommandInput, what: string): Promise<Instance> {
    const { Instances } = await this.#send(what, (sdk, client, options) =>
      client.send(new sdk.RunInstancesCommand(input), options),
    );
    return part(Instances?.[0], what, 'instance');
  }

  /** All pages. None found is an empty list; an answer without a list is a failure. */
  async describe(input: DescribeInstancesCommandInput): Promise<readonly Instance[]> {
    const what = 'DescribeInstances';
    const reservations = await this.#pages(async (next) => {
      const page = { ...input, ...(next === undefined ? {} : { NextToken: next }) };
      const { Reservations, NextToken } = await this.#send(what, (sdk, client, options) =>
        client.send(new sdk.DescribeInstancesCommand(page), options),
      );
      return { found: part(Reservations, what, 'list of reservations'), next: NextToken };
    });
    return reservations.flatMap(({ Instances }) => part(Instances, what, 'list of instances'));
  }

  /** Undefined when EC2 does not know it: ended long ago, or not yet known everywhere. */
  async describeOne(id: string): Promise<Instance | undefined> {
    return unlessAbsent(async () => (await this.describe({ InstanceIds: [id] }))[0]);
  }

  /** Undefined when EC2 does not know it. */
  async terminate(id: string): Promise<InstanceStateChange | undefined> {
    return unlessAbsent(async () => {
      const what = `TerminateInstances of ${id}`;
      const { TerminatingInstances } = await this.#send(what, (sdk, client, options) =>
        client.send(new sdk.TerminateInstancesCommand({ InstanceIds: [id] }), options),
      );
      return part(TerminatingInstances?.[0], what, 'instance');
    });
  }

  /** All pages; empty without the permission to ask. */
  async volumes(filters: readonly Filter[]): Promise<readonly Volume[]> {
    const found = await ifPermitted(() =>
      this.#pages(async (next) => {
        const what = 'DescribeVolumes';
        const input = { Filters: [...filters], MaxResults: 500, NextToken: next };
        const { Volumes, NextToken } = await this.#send(what, (sdk, client, options) =>
          client.send(new sdk.DescribeVolumesCommand(input), options),
        );
        return { found: part(Volumes, what, 'list of volumes'), next: NextToken };
      }),
    );
    return found ?? [];
  }

  /** All pages; empty without the permission to ask. */
  async networkInterfaces(filters: readonly Filter[]): Promise<readonly NetworkInterface[]> {
    const found = await ifPermitted(() =>
      this.#pages(async (next) => {
        const what = 'DescribeNetworkInterfaces';
        const input = { Filters: [...filters], MaxResults: 500, NextToken: next };
        const { NetworkInterfaces, NextToken } = await this.#send(what, (sdk, client, options) =>
          client.send(new sdk.DescribeNetworkInterfacesCommand(input), options),
        );
        return { found: part(NetworkInterfaces, what, 'list of network interfaces'), next: NextToken };
      }),
    );
    return found ?? [];
  }

  /** What the instance has printed; undefined if nothing is known, or without the permission to ask. */
  async consoleOutput(id: string): Promise<string | undefined> {
    const shown = await ifPermitted(() =>
      this.#send(`GetConsoleOutput of ${id}`, (sdk, client, options) =>
        client.send(new sdk.GetConsoleOutputCommand({ InstanceId: id }), options),
      ),
    );
    return shown?.Output === undefined ? undefined : Buffer.from(shown.Output, 'base64').toString('utf8');
  }

  /** Deletes a volume. One that is absent, or was attached meanwhile, is left. */
  async deleteVolume(id: string): Promise<void> {
    await unlessCode(['InvalidVolume.NotFound', 'VolumeInUse'], () =>
      this.#send(`DeleteVolume of ${id}`, (sdk, client, options) =>
        client.send(new sdk.DeleteVolumeCommand({ VolumeId: id }), options),
      ),
    );
  }

  /** Deletes a network interface. One that is absent, or was attached meanwhile, is left. */
  async deleteNetworkInterface(id: string): Promise<void> {
    await unlessCode(['InvalidNetworkInterfaceID.NotFound', 'InvalidNetworkInterface.InUse'], () =>
      this.#send(`DeleteNetworkInterface of ${id}`, (sdk, client, options) =>
        client.send(new sdk.DeleteNetworkInterfaceCommand({ NetworkInterfaceId: id }), options),
      ),
    );
  }

  /** The account's own images. All pages; a filter interprets * and ?. */
  async images(filters: readonly Filter[]): Promise<readonly Image[]> {
    const what = 'DescribeImages';
    return this.#pages(async (next) => {
      const input = { Owners: ['self'], Filters: [...filters], MaxResults: 500, NextToken: next };
      const { Images, NextToken } = await this.#send(what, (sdk, client, options) =>
        client.send(new sdk.DescribeImagesCommand(input), options),
      );
      return { found: part(Images, what, 'list of images'), next: NextToken };
    });
  }

  /** The account's own snapshots. All pages; a filter interprets * and ?. */
  async snapshots(filters: readonly Filter[]): Promise<readonly Snapshot[]> {
    const what = 'DescribeSnapshots';
    return this.#pages(async (next) => {
      const input = { OwnerIds: ['self'], Filters: [...filters], MaxResults: 500, NextToken: next };
      const { Snapshots, NextToken } = await this.#send(what, (sdk, client, options) =>
        client.send(new sdk.DescribeSnapshotsCommand(input), options),
      );
      return { found: part(Snapshots, what, 'list of snapshots'), next: NextToken };
    });
  }

  /** Adds a tag without a value. Nothing happens without the permission. */
  async tag(id: string, tag: string): Promise<void> {
    await ifPermitted(() =>
      this.#send(`CreateTags of ${id}`, (sdk, client, options) =>
        client.send(new sdk.CreateTagsCommand({ Resources: [id], Tags: [{ Key: tag, Value: '' }] }), options),
      ),
    );
  }

  /** Undefined if there is an image of that name. */
  async registerImage(input: RegisterImageCommandInput): Promise<string | undefined> {
    const what = `RegisterImage of ${input.Name ?? ''}`;
    const made = await unlessCode(['InvalidAMIName.Duplicate'], () =>
      this.#send(what, (sdk, client, options) => client.send(new sdk.RegisterImageCommand(input), options)),
    );
    return made === undefined ? undefined : part(made.ImageId, what, 'image');
  }

  /** An absent image is not a failure. */
  async deregisterImage(id: string): Promise<void> {
    await unlessAbsent(() =>
      this.#send(`DeregisterImage of ${id}`, (sdk, client, options) =>
        client.send(new sdk.DeregisterImageCommand({ ImageId: id }), options),
      ),
    );
  }

  /** False if an image is made of it. An absent snapshot is not a failure. */
  async deleteSnapshot(id: string): Promise<boolean> {
    let isInUse = true;
    await unlessCode(['InvalidSnapshot.InUse'], async () => {
      await unlessCode(['InvalidSnapshot.NotFound'], () =>
        this.#send(`DeleteSnapshot of ${id}`, (sdk, client, options) =>
          client.send(new sdk.DeleteSnapshotCommand({ SnapshotId: id }), options),
        ),
      );
      isInUse = false;
    });
    return !isInUse;
  }

  /** What the region has of these instance types; undefined without the permission to ask. */
  async instanceTypes(types: readonly string[]): Promise<readonly InstanceTypeInfo[] | undefined> {
    if (types.length === 0) return [];
    const what = 'DescribeInstanceTypes';
    return ifPermitted(() =>
      this.#pages(async (next) => {
        const input = { Filters: [{ Name: 'instance-type', Values: [...types] }], NextToken: next };
        const { InstanceTypes, NextToken } = await this.#send(what, (sdk, client, options) =>
          client.send(new sdk.DescribeInstanceTypesCommand(input), options),
        );
        return { found: part(InstanceTypes, what, 'list of instance types'), next: NextToken };
      }),
    );
  }

  /** A quota of EC2 by its code; undefined without the permission to ask, or if the region lacks it. */
  async serviceQuota(code: string): Promise<number | undefined> {
    const what = `GetServiceQuota ${code}`;
    await this.#calls.take();
    const answer = await unlessCode([...notPermitted, 'NoSuchResourceException'], () =>
      this.#callSigned({
        service: 'servicequotas',
        method: 'POST',
        path: '/',
        headers: {
          'content-type': 'application/x-amz-json-1.1',
          'x-amz-target': 'ServiceQuotasV20190624.GetServiceQuota',
        },
        body: JSON.stringify({ ServiceCode: 'ec2', QuotaCode: code }),
        what,
      }),
    );
    if (answer === undefined) return undefined;
    const { success, data } = quotaSchema.safeParse(answer);
    return part(success ? data.Quota.Value : undefined, what, 'value');
  }

  /** Calls the EBS direct APIs. Blocks are content of one upload, and do not count as calls of their own. */
  async callEbs(call: Omit<SignedCall, 'service'>, { counts = false } = {}): Promise<unknown> {
    if (counts) await this.#calls.take();
    return this.#callSigned({ ...call, service: 'ebs' });
  }

  async #callSigned(call: SignedCall): Promise<unknown> {
    const { client } = await this.#opened();
    const credentials = await client.config.credentials().catch((error: unknown) => {
      throw failureOf(call.what, error);
    });
    return callSigned(this.#fields, credentials, call, this.signal);
  }

  async #opened(): Promise<{ readonly sdk: Sdk; readonly client: EC2Client }> {
    const sdk = await loadSdk();
    this.#client ??= this.#open(sdk);
    return { sdk, client: this.#client };
  }

  async #pages<Item>(
    read: (next?: string) => Promise<{ readonly found: readonly Item[]; readonly next?: string | undefined }>,
  ): Promise<readonly Item[]> {
    const all: Item[] = [];
    let next: string | undefined;
    do {
      const page = await read(next);
      all.push(...page.found);
      next = page.next === '' ? undefined : page.next;
    } while (next !== undefined);
    return all;
  }

  /** What the image calls its root device. */
  async rootDevice(image: string): Promise<string> {
    const what = `DescribeImages of ${image}`;
    const { Images } = await this.#send(what, (sdk, client, options) =>
      client.send(new sdk.DescribeImagesCommand({ ImageIds: [image] }), options),
    );
    return part(part(Images, what, 'list of images')[0]?.RootDeviceName, what, 'root device');
  }

  /** Whether the region, or one of the zones, has this instance type; undefined if asking is not permitted. */
  async offersType(type: string, zones?: readonly string[]): Promise<boolean | undefined> {
    const what = `DescribeInstanceTypeOfferings of ${type}`;
    const input: DescribeInstanceTypeOfferingsCommandInput = {
      LocationType: zones === undefined ? 'region' : 'availability-zone',
      Filters: [
        { Name: 'instance-type', Values: [type] },
        ...(zones === undefined ? [] : [{ Name: 'location', Values: [...zones] }]),
      ],
    };
    return ifPermitted(async () => {
      const { InstanceTypeOfferings } = await this.#send(what, (sdk, client, options) =>
        client.send(new sdk.DescribeInstanceTypeOfferingsCommand(input), options),
      );
      const offered = part(InstanceTypeOfferings, what, 'list of offerings');
      // A filter interprets * and ?.
      return offered.some(({ InstanceType }) => InstanceType === type);
    });
  }

  /** Undefined without the permission to ask, and for a parameter of SSM, which only a launch resolves. */
  async hasImage(image: string): Promise<boolean | undefined> {
    if (image.startsWith('resolve:')) return undefined;
    const what = `DescribeImages of ${image}`;
    return ifPermitted(async () => {
      const found = await unlessAbsent(() =>
        this.#send(what, (sdk, client, options) =>
          client.send(new sdk.DescribeImagesCommand({ ImageIds: [image] }), options),
        ),
      );
      return found !== undefined && part(found.Images, what, 'list of images').length > 0;
    });
  }

  async #send<Answer>(
    what: string,
    call: (sdk: Sdk, client: EC2Client, options: { readonly abortSignal: AbortSignal }) => Promise<Answer>,
  ): Promise<Answer> {
    const { sdk, client } = await this.#opened();
    await this.#calls.take();
    try {
      return await call(sdk, client, { abortSignal: this.signal });
    } catch (error) {
      this.signal.throwIfAborted();
      throw failureOf(what, error);
    }
  }

  #open({ EC2Client }: Sdk): EC2Client {
    const { region, endpoint, accessKeyId, secretAccessKey, sessionToken } = this.#fields;
    return new EC2Client({
      region,
      endpoint,
      ...(accessKeyId === undefined || secretAccessKey === undefined
        ? {}
        : { credentials: { accessKeyId, secretAccessKey, sessionToken } }),
      // The engine tries again; two layers of it would multiply.
      maxAttempts: 1,
      requestHandler: { connectionTimeout: 5_000, requestTimeout: answerMs, throwOnRequestTimeout: true },
    });
  }
}

/** Loaded at the first call: users without AWS need not install it. */
async function loadSdk(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-ec2');
  } catch (cause) {
    throw new PluginError(
      'Invalid',
      'the aws provider needs the package @aws-sdk/client-ec2, which is not installed on this worker: npm install @aws-sdk/client-ec2',
      { cause },
    );
  }
}

function part<Value>(value: Value | undefined, what: string, name: string): Value {
  if (value !== undefined) return value;
  throw new PluginError(
    'Retryable',
    `${what} returned a response without ${name}. Is the endpoint an EC2 endpoint?`,
  );
}

const absent = [
  'InvalidInstanceID.NotFound',
  'InvalidAMIID.NotFound',
  'InvalidAMIID.Malformed',
  'InvalidAMIID.Unavailable',
];

/** Undefined if EC2 reports no such instance or image. */
function unlessAbsent<Value>(call: () => Promise<Value>): Promise<Value | undefined> {
  return unlessCode(absent, call);
}

const notPermitted = ['UnauthorizedOperation', 'AccessDenied', 'AccessDeniedException'];

/** Undefined if the account may not make this call: one that only machines need may do without. */
export function ifPermitted<Value>(call: () => Promise<Value>): Promise<Value | undefined> {
  return unlessCode(notPermitted, call);
}

async function unlessCode<Value>(
  codes: readonly string[],
  call: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof PluginError && codes.includes(codeOf(error.cause))) return undefined;
    throw error;
  }
}
