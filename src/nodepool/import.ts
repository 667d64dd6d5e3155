import { stringify } from 'yaml';
import type { Json, JsonObject } from '../model/json.js';
import { isPlainObject } from '../schema/plain-json.js';
import { readPoolsFile } from '../schema/pool/read.js';
import { longestName } from '../schema/pool/spec.js';
import { errorAt, placeProblems, warningAt, type Path, type Problem } from '../schema/problem.js';
import { readYaml } from '../schema/yaml-source.js';
import { problemsFromZod } from '../schema/zod-problems.js';
import { imageFormatOf, importCloudAccount, importCloudPool } from './cloud-pool.js';
import { importDiskimages, type ImageUse } from './diskimages.js';
import { Names } from './names.js';
import { remarkUnread } from './remarks.js';
import { importMetastaticPool, remarkMetastatic } from './metastatic-pool.js';
import { importPace } from './pace.js';
import { limitsOf, importSimulatedPool } from './simulated-pool.js';
import { importStaticPool } from './static-pool.js';
import type { Taking } from './taking.js';
import { replaceVariables } from './variables.js';
import { nodepoolSchema, type NodepoolFile, type NodepoolProvider } from './written.js';

export interface NodepoolOptions {
  /** Name of the pool. */
  readonly name: string;
  /** The account in heddle.yaml that replaces the simulated cloud. */
  readonly simulated: string;
  /** Values of `%(NODEPOOL_X)`. Default: none. */
  readonly variables?: Readonly<Record<string, string>>;
}

export type NodepoolReading =
  /** `remarks` lists everything that has no counterpart, or a different one. */
  | {
      readonly ok: true;
      /** Contains no pool if the file has only diskimages. */
      readonly pools: JsonObject;
      readonly accounts: JsonObject;
      /** Image files, by the names of the images. */
      readonly images: Readonly<Record<string, JsonObject>>;
      readonly remarks: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Reads the text of a nodepool.yaml as one pool. Reports everything that it omits. */
export function importNodepool(text: string, fileName: string, options: NodepoolOptions): NodepoolReading {
  const written = replaceVariables(text, fileName, options.variables ?? {});
  const source = readYaml(written.text, fileName, { bytes: 1024 * 1024, depth: 32 });
  if (!source.ok) return { ok: false, problems: [...source.problems, ...written.remarks] };
  const { locate } = source;
  const value = withoutForeignPools(source.value);
  const fail = (problems: readonly Problem[]): NodepoolReading => ({
    ok: false,
    problems: placeProblems([...problems, ...written.remarks], locate),
  });
  const parsed = nodepoolSchema.safeParse(value);
  if (!parsed.success) return fail(problemsFromZod(nodepoolSchema, parsed.error, value));
  const { pool, accounts, images, remarks } = take(parsed.data, options);
  const hasPool = Object.keys(pool.providerPools).length > 0;
  if (!hasPool && (hasPools(source.value) || Object.keys(images).length === 0))
    return fail([...describeLack(parsed.data, source.value), ...remarks]);
  // A file only for builders has no pool.
  const pools: JsonObject = { pools: hasPool ? { [options.name]: pool } : {} };
  // `heddle pool apply` must accept the result.
  const checked = hasPool ? readPoolsFile(stringify(pools), 'pools.yaml') : undefined;
  if (checked?.ok === false)
    return fail(
      checked.problems.map(({ wrong, right, path }) =>
        errorAt([], `the imported pool would be invalid: ${path.join('.')} ${wrong}`, right),
      ),
    );
  return {
    ok: true,
    pools,
    accounts,
    images,
    remarks: placeProblems([...remarks, ...written.remarks], locate),
  };
}

interface Taken {
  readonly pool: {
    readonly labels: JsonObject;
    readonly providerPools: JsonObject;
    readonly tenants?: JsonObject;
  };
  readonly accounts: JsonObject;
  readonly images: Readonly<Record<string, JsonObject>>;
  readonly remarks: readonly Problem[];
}

/** Removes pools of unsupported drivers, which have other keys. */
function withoutForeignPools(value: Json | undefined): Json | undefined {
  if (!isPlainObject(value) || !Array.isArray(value['providers'])) return value;
  return {
    ...value,
    providers: value['providers'].map((provider: Json) => {
      if (!isPlainObject(provider) || typeof provider['driver'] !== 'string') return provider;
      if (isKnown(provider['driver'])) return provider;
      const { pools: _pools, ...rest } = provider;
      return rest;
    }),
  };
}

const drivers = ['static', 'fake', 'openstack', 'aws', 'metastatic'] as const;

function isKnown(driver: string): driver is (typeof drivers)[number] {
  return drivers.some((known) => known === driver);
}

/** Files only for builders have providers without pools, or no providers. */
function hasPools(value: Json | undefined): boolean {
  const providers = isPlainObject(value) ? value['providers'] : undefined;
  return (
    Array.isArray(providers) &&
    providers.some(
      (provider: Json) =>
        isPlainObject(provider) && Array.isArray(provider['pools']) && provider['pools'].length > 0,
    )
  );
}

/** Why the file contains neither a pool nor an image. */
function describeLack(file: NodepoolFile, value: Json | undefined): readonly Problem[] {
  const lacks = (['labels', 'providers'] as const).flatMap((key) => {
    if (file[key].length > 0) return [];
    const isMissing = !isPlainObject(value) || value[key] === undefined;
    return [errorAt([key], isMissing ? 'is missing' : `has no ${key.slice(0, -1)}`)];
  });
  return lacks.length > 0
    ? lacks
    : [errorAt(['providers'], 'has no pool that can be imported', describeDrivers(file))];
}

/** Supported drivers, and those of the file that are not. */
function describeDrivers({ providers }: NodepoolFile): string {
  const lacking = [...new Set(providers.map(({ driver = 'openstack' }) => driver))].filter(
    (driver) => !isKnown(driver),
  );
  const known = `Supported drivers: ${drivers.join(', ')}`;
  return lacking.length === 0
    ? `${known}. Their pools must have labels that are declared.`
    : `${known}; not ${lacking.join(', ')}. Write pools.yaml by hand.`;
}

function take(file: NodepoolFile, { name, simulated }: NodepoolOptions): Taken {
  const labels = new Names(longestName - name.length - 1);
  const served = new Set<string>();
  const imageNames = new Names(longestName);
  const uses = new Map<string, ImageUse[]>();
  const isOn = (label: string): boolean =>
    file.labels.some((declared) => declared.name === label && (declared['min-ready'] ?? 0) >= 0);
  const taking: Taking = {
    simulated,
    pools: {},
    accounts: {},
    providerPools: new Names(63),
    providerAccounts: new Names(63),
    declares: isOn,
    nameOf: (label) => labels.of(label),
    serve: (label) => {
      served.add(label);
      return labels.of(label);
    },
    declaresImage: (diskimage) =>
      file.diskimages?.some(({ name: declared }) => declared === diskimage) === true,
    userOf: (diskimage) => file.diskimages?.find((image) => image.name === diskimage)?.username,
    useImage: (diskimage, use) => {
      uses.set(diskimage, [...(uses.get(diskimage) ?? []), use]);
      return imageNames.of(diskimage);
    },
  };
  const remarks = [
    ...remarkUnread('file', file, []),
    // Providers of the driver metastatic come last: they share machines of the others.
    ...[...file.providers.entries()]
      .toSorted(([, one], [, other]) => Number(isMetastatic(one)) - Number(isMetastatic(other)))
      .flatMap(([index, provider]) => takeProvider(taking, provider, ['providers', index])),
    ...file.labels.flatMap((label, index) => remarkLabel(labels, served, label, ['labels', index])),
    ...file.labels.flatMap(({ name: label }, index) =>
      file.labels.findLastIndex((other) => other.name === label) === index
        ? []
        : [warningAt(['labels', index], `label ${label} is declared again below, which overrides this one`)],
    ),
  ];
  const { images, remarks: imageRemarks } = importDiskimages(file, imageNames, uses);
  const hold = file['max-hold-age'] ?? 0;
  const tenants = new Names(63);
  const limits = (file['tenant-resource-limits'] ?? []).map(
    (limit) => [tenants.of(limit['tenant-name']), limitsOf(limit)] as const,
  );
  return {
    accounts: taking.accounts,
    images,
    pool: {
      labels: Object.fromEntries(
        file.labels
          .filter((label) => served.has(label.name))
          .map((label) => [labels.of(label.name), labelOf(label, hold)]),
      ),
      providerPools: taking.pools,
      ...(limits.length === 0 ? {} : { tenants: Object.fromEntries(limits) }),
    },
    remarks: [
      ...remarks,
      ...imageRemarks,
      ...(file['tenant-resource-limits'] ?? []).flatMap((limit, index) => {
        const path: Path = ['tenant-resource-limits', index];
        return [
          ...remarkUnread('tenant', limit, path),
          ...tenants.remark(limit['tenant-name'], [...path, 'tenant-name']),
        ];
      }),
    ],
  };
}

/** Maximum `minReady` of a label of Heddle. */
const mostReady = 1_000;

function labelOf(
  { 'min-ready': minReady = 0, 'max-ready-age': maxReadyAge = 0 }: NodepoolFile['labels'][number],
  hold: number,
): JsonObject {
  return {
    minReady: Math.min(mostReady, minReady),
    ...(maxReadyAge > 0 ? { maxReadyAge } : {}),
    ...(hold > 0 ? { maxHoldAge: hold } : {}),
  };
}

function remarkLabel(
  labels: Names,
  served: ReadonlySet<string>,
  label: NodepoolFile['labels'][number],
  path: Path,
): readonly Problem[] {
  const unread = [
    ...remarkUnread('label', label, path),
    ...((label['min-ready'] ?? 0) > mostReady
      ? [
          warningAt(
            [...path, 'min-ready'],
            `exceeds the maximum of ${mostReady}, and is imported as ${mostReady}`,
          ),
        ]
      : []),
  ];
  if ((label['min-ready'] ?? 0) < 0)
    return [...unread, warningAt([...path, 'min-ready'], 'disables the label, so it is omitted')];
  if (!served.has(label.name))
    return [
      ...unread,
      warningAt([...path, 'name'], `no imported provider serves label ${label.name}, so it is omitted`),
    ];
  return [...unread, ...labels.remark(label.name, [...path, 'name'])];
}

function isMetastatic({ driver }: NodepoolProvider): boolean {
  return driver === 'metastatic';
}

function takeProvider(taking: Taking, provider: NodepoolProvider, path: Path): readonly Problem[] {
  const { driver = 'openstack', pools } = provider;
  if (!isKnown(driver)) {
    return [
      warningAt(
        [...path, 'driver'],
        `providers of driver ${driver} are not imported, because Heddle does not support it`,
        `Write a provider plugin, or keep them in Nodepool.`,
      ),
    ];
  }
  if (isMetastatic(provider))
    return [
      ...remarkUnread('provider', provider, path),
      ...remarkMetastatic(provider, path),
      ...(pools ?? []).flatMap((pool, index) => {
        const at: Path = [...path, 'pools', index];
        return [...remarkUnread('pool', pool, at), ...importMetastaticPool(taking, pool, at)];
      }),
    ];
  const cloud = driver === 'openstack' || driver === 'aws' ? driver : undefined;
  const remarks = [
    ...remarkUnread('provider', provider, path, cloud),
    ...(cloud === undefined ? [] : remarkImages(provider, path)),
    ...(cloud === undefined ? [] : importCloudAccount(taking, cloud, provider, path)),
    ...importPace(taking, provider, accountOf(taking, provider), path),
  ];
  if (cloud !== undefined) useUploads(taking, provider);
  return [
    ...remarks,
    ...(pools ?? []).flatMap((pool, index) => {
      const at: Path = [...path, 'pools', index];
      const whole = {
        name: `${provider.name} ${pool.name}`,
        priority: Math.max(0, Math.round(pool.priority ?? provider.priority ?? 100)),
        path: at,
      };
      return [
        ...remarkUnread('pool', pool, at, cloud),
        ...(cloud === undefined
          ? driver === 'static'
            ? importStaticPool(taking, pool, whole)
            : importSimulatedPool(taking, provider, pool, whole)
          : importCloudPool(taking, cloud, provider, pool, whole)),
      ];
    }),
  ];
}

/** Images are uploaded to each provider that lists them, even if no label uses them there. */
function useUploads(taking: Taking, provider: NodepoolProvider): void {
  const account = accountOf(taking, provider);
  for (const { name } of provider.diskimages ?? [])
    if (taking.declaresImage(name)) taking.useImage(name, { account, format: imageFormatOf(provider) });
}

function remarkImages(
  { 'cloud-images': images, diskimages }: NodepoolProvider,
  path: Path,
): readonly Problem[] {
  return [
    ...(images ?? []).flatMap((image, index) =>
      remarkUnread('cloudImage', image, [...path, 'cloud-images', index]),
    ),
    ...(diskimages ?? []).flatMap((image, index) =>
      remarkUnread('upload', image, [...path, 'diskimages', index]),
    ),
  ];
}

function accountOf(taking: Taking, { driver = 'openstack', name }: NodepoolProvider): string {
  if (driver === 'fake') return taking.simulated;
  return driver === 'static' ? name : taking.providerAccounts.of(name);
}
