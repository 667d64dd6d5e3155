import { stringify } from 'yaml';
import type { JsonObject } from '../../model/json.js';
import { readPoolsFile } from '../pool/read.js';
import { longestName } from '../pool/spec.js';
import { errorAt, placeProblems, warningAt, type Path, type Problem } from '../problem.js';
import { readYaml } from '../yaml-source.js';
import { problemsFromZod } from '../zod-problems.js';
import { Names } from './names.js';
import { remarkUnread, remarkVariables } from './remarks.js';
import { limitsOf, remarkPace, importSimulatedPool } from './simulated-pool.js';
import { importStaticPool } from './static-pool.js';
import type { Taking } from './taking.js';
import { nodepoolSchema, type NodepoolFile, type NodepoolProvider } from './written.js';

export interface NodepoolOptions {
  /** What the pool is to be called. */
  readonly name: string;
  /** The account in heddle.yaml that replaces the simulated cloud. */
  readonly simulated: string;
}

export type NodepoolReading =
  /** `remarks` lists everything without a counterpart, or with a different one. */
  | {
      readonly ok: true;
      readonly pools: JsonObject;
      readonly accounts: JsonObject;
      readonly remarks: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Reads the text of a nodepool.yaml as one pool. Nothing is passed over in silence. */
export function importNodepool(text: string, fileName: string, options: NodepoolOptions): NodepoolReading {
  const source = readYaml(text, fileName, { bytes: 1024 * 1024, depth: 32 });
  if (!source.ok) return source;
  const { value, locate } = source;
  const fail = (problems: readonly Problem[]): NodepoolReading => ({
    ok: false,
    problems: placeProblems(problems, locate),
  });
  const parsed = nodepoolSchema.safeParse(value);
  if (!parsed.success) return fail(problemsFromZod(nodepoolSchema, parsed.error, value));
  const { pool, accounts, remarks } = take(parsed.data, options);
  if (Object.keys(pool.providerPools).length === 0) {
    return fail([
      errorAt(
        ['providers'],
        'has no pool that could be taken over',
        'Providers of the drivers static and fake can be; for others write pools.yaml by hand.',
      ),
      ...remarks,
    ]);
  }
  const pools: JsonObject = { pools: { [options.name]: pool } };
  // What is given out must be what `heddle pool apply` takes.
  const checked = readPoolsFile(stringify(pools), 'pools.yaml');
  if (!checked.ok)
    return fail(
      checked.problems.map(({ wrong, right, path }) =>
        errorAt([], `as a pool it would be wrong at ${path.join('.')}: ${wrong}`, right),
      ),
    );
  return {
    ok: true,
    pools,
    accounts,
    remarks: placeProblems([...remarks, ...remarkVariables(value)], locate),
  };
}

interface Taken {
  readonly pool: {
    readonly labels: JsonObject;
    readonly providerPools: JsonObject;
    readonly tenants?: JsonObject;
  };
  readonly accounts: JsonObject;
  readonly remarks: readonly Problem[];
}

function take(file: NodepoolFile, { name, simulated }: NodepoolOptions): Taken {
  const labels = new Names(longestName - name.length - 1);
  const served = new Set<string>();
  const isOn = (label: string): boolean =>
    file.labels.some((declared) => declared.name === label && (declared['min-ready'] ?? 0) >= 0);
  const taking: Taking = {
    simulated,
    pools: {},
    accounts: {},
    providerPools: new Names(63),
    declares: isOn,
    serve: (label) => {
      served.add(label);
      return labels.of(label);
    },
  };
  const remarks = [
    ...remarkUnread('file', file, []),
    ...file.providers.flatMap((provider, index) => takeProvider(taking, provider, ['providers', index])),
    ...file.labels.flatMap((label, index) => remarkLabel(labels, served, label, ['labels', index])),
    ...file.labels.flatMap(({ name: label }, index) =>
      file.labels.findLastIndex((other) => other.name === label) === index
        ? []
        : [warningAt(['labels', index], `label ${label} is declared again below, and that one counts`)],
    ),
  ];
  const hold = file['max-hold-age'] ?? 0;
  const tenants = new Names(63);
  const limits = (file['tenant-resource-limits'] ?? []).map(
    (limit) => [tenants.of(limit['tenant-name']), limitsOf(limit)] as const,
  );
  return {
    accounts: taking.accounts,
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

/** What a label of ours may keep ready at most. */
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
      ? [warningAt([...path, 'min-ready'], `is more than ${mostReady}, which is the most, and became that`)]
      : []),
  ];
  if ((label['min-ready'] ?? 0) < 0)
    return [...unread, warningAt([...path, 'min-ready'], 'switches the label off, so it is left out')];
  if (!served.has(label.name))
    return [
      ...unread,
      warningAt(
        [...path, 'name'],
        `nothing that is taken over serves label ${label.name}, so it is left out`,
      ),
    ];
  return [...unread, ...labels.remark(label.name, [...path, 'name'])];
}

function takeProvider(taking: Taking, provider: NodepoolProvider, path: Path): readonly Problem[] {
  const { driver = 'openstack', pools } = provider;
  if (driver !== 'static' && driver !== 'fake') {
    return [
      warningAt(
        [...path, 'driver'],
        `providers of driver ${driver} are not taken over`,
        'Make an account with heddle provider add, and write its provider pools by hand.',
      ),
    ];
  }
  const remarks = [
    ...remarkUnread('provider', provider, path),
    ...remarkPace(provider, driver === 'fake' ? taking.simulated : provider.name, path),
  ];
  return [
    ...remarks,
    ...(pools ?? []).flatMap((pool, index) => {
      const at: Path = [...path, 'pools', index];
      const whole = {
        name: `${provider.name} ${pool.name}`,
        priority: Math.max(0, Math.round(pool.priority ?? provider.priority ?? 100)),
        path: at,
      };
      const taken =
        driver === 'static'
          ? importStaticPool(taking, pool, whole)
          : importSimulatedPool(taking, provider, pool, whole);
      return [...remarkUnread('pool', pool, at), ...taken];
    }),
  ];
}
