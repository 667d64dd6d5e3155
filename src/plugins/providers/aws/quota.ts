import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { AccountQuota } from '../../contract.js';
import type { Ec2 } from './api.js';

/** Quotas of vCPUs that run on demand, by the first letters of instance types. */
const classes = [
  {
    word: 'standard-vcpus',
    families: ['a', 'c', 'd', 'h', 'i', 'im', 'is', 'm', 'r', 't', 'z'],
    code: 'L-1216C47A',
  },
  { word: 'g-vcpus', families: ['g', 'gr', 'vt'], code: 'L-DB2E81BA' },
  { word: 'p-vcpus', families: ['p'], code: 'L-417A185B' },
  { word: 'f-vcpus', families: ['f'], code: 'L-74FC7D96' },
  { word: 'x-vcpus', families: ['x'], code: 'L-7295265B' },
  { word: 'inf-vcpus', families: ['inf'], code: 'L-1945791B' },
  { word: 'trn-vcpus', families: ['trn'], code: 'L-2C3B7624' },
  { word: 'dl-vcpus', families: ['dl'], code: 'L-6E869C2A' },
] as const;
type QuotaClass = (typeof classes)[number];

/**
 * The quotas that these instance types count towards, and what runs of each in the region. EC2 counts the
 * default vCPUs of an instance type, and spot instances apart. What the account may not read is left out.
 */
export async function accountQuota(ec2: Ec2, flavors: readonly string[]): Promise<AccountQuota> {
  const wanted = new Set(flavors.flatMap((flavor) => classOf(flavor) ?? []));
  const limits: Record<string, number> = {};
  for (const one of wanted) {
    const limit = await ec2.serviceQuota(one.code);
    if (limit !== undefined) limits[one.word] = limit;
  }
  const running = await ec2.describe({
    Filters: [{ Name: 'instance-state-name', Values: ['pending', 'running'] }],
  });
  const counted = running
    .filter(({ InstanceLifecycle }) => InstanceLifecycle !== 'spot')
    .flatMap(({ InstanceType }) => InstanceType ?? []);
  const types = await ec2.instanceTypes([...new Set([...flavors, ...counted])]);
  if (types === undefined) return { limits: {}, used: {} };
  const known = new Map(types.map((info) => [String(info.InstanceType), info]));
  const used: Record<string, number> = {};
  for (const word of Object.keys(limits)) used[word] = 0;
  for (const type of counted) {
    const word = classOf(type)?.word;
    if (word !== undefined && word in limits) used[word] = (used[word] ?? 0) + vcpusOf(known.get(type));
  }
  const sizes = Object.fromEntries(
    flavors.flatMap((flavor) => {
      const info = known.get(flavor);
      return info === undefined ? [] : [[flavor, sizeOf(flavor, info)] as const];
    }),
  );
  return { limits, used, sizes };
}

function sizeOf(flavor: string, info: InstanceTypeInfo): Readonly<Record<string, number>> {
  const [cores, memory] = [vcpusOf(info), info.MemoryInfo?.SizeInMiB];
  const word = classOf(flavor)?.word;
  return {
    cores,
    ...(memory === undefined ? {} : { memory }),
    ...(word === undefined ? {} : { [word]: cores }),
  };
}

function vcpusOf(info: InstanceTypeInfo | undefined): number {
  return info?.VCpuInfo?.DefaultVCpus ?? 0;
}

function classOf(type: string): QuotaClass | undefined {
  const [family = ''] = /^[a-z]+(?=\d)/.exec(type) ?? [];
  return classes.find(({ families }) => families.some((one) => one === family));
}
