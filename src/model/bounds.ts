import { jsonBytes, maxPlacementBytes, maxPlanBytes, maxSpecBytes, mostCarried } from './carried.js';

/** Some fields of a carried state, and what they may have together, in bytes of JSON. */
interface Part {
  readonly fields: readonly string[];
  readonly most: number;
}

/** The parts of a carried state. `others` are the fields that no part names. */
export type Bounds = Readonly<Record<string, Part>> & { readonly others: Part };

function part(most: number, ...fields: readonly string[]): Part {
  return { fields, most };
}

/** Nodes of a pool may have been made with the placements before the present ones. */
const poolConfiguration = maxSpecBytes + 2 * maxPlacementBytes;

/**
 * What each long-lived workflow may carry, by its type. The parts of each fit into one message together.
 * Messages are refused, results cut or refused, and records of the past forgotten, before a part exceeds its
 * bound.
 */
export const bounds = {
  cluster: {
    /** Up to 50 nodes. */
    nodes: part(880_000, 'nodes', 'placements'),
    /** Up to four different specs, and operations. */
    wanted: part(860_000, 'specs', 'queue', 'operation', 'consent'),
    history: part(160_000, 'history'),
    /** With readers, imports, and groups without what can be read again. */
    others: part(150_000),
  },
  group: {
    /** Up to 100 nodes. */
    nodes: part(1_100_000, 'nodes', 'placements'),
    /** A group has either of them. */
    work: part(maxPlanBytes, 'work', 'forgotten'),
    /** Both are of the spec. */
    spec: part(maxSpecBytes + 10_000, 'services', 'config'),
    /** With the command, variables, and what is not reported yet. */
    others: part(200_000),
  },
  revision: { others: part(maxSpecBytes + 10_000) },
  pool: {
    /** Nodes and requests get what the configuration leaves: see `pool/room.ts`. */
    configured: part(poolConfiguration, 'spec', 'placements', 'machines'),
    /** With quotas, pauses and moves, which `pool/room.ts` does not count. */
    others: part(mostCarried - poolConfiguration + 130_000),
  },
  machine: {
    history: part(400_000, 'history'),
    operation: part(200_000, 'operation'),
    payload: part(20_000, 'payload'),
    registration: part(100_000, 'registration'),
    others: part(300_000),
  },
  image: {
    spec: part(maxSpecBytes, 'spec'),
    builds: part(900_000, 'builds'),
    machines: part(500_000, 'machines', 'lease'),
    others: part(300_000),
  },
  reservations: {
    reservations: part(1_700_000, 'reservations'),
    notifications: part(200_000, 'notifications'),
    others: part(100_000),
  },
  artifacts: { others: part(mostCarried) },
  claims: { others: part(mostCarried) },
  lock: { others: part(2_000) },
  rateLimiter: { others: part(100) },
} as const satisfies Readonly<Record<string, Bounds>>;

export function partBytes({ fields }: Part, carried: object): number {
  const values = carried as Readonly<Record<string, unknown>>;
  return fields.reduce((sum, field) => sum + jsonBytes(values[field]), 0);
}

/** The size of each part, by its name. */
function sizesOf(parts: Bounds, carried: unknown): Readonly<Record<string, number>> {
  if (typeof carried !== 'object' || carried === null) return { others: jsonBytes(carried) };
  const { others: _others, ...named } = parts;
  const sizes = Object.fromEntries(
    Object.entries(named).map(([name, one]) => [name, partBytes(one, carried)] as const),
  );
  const known = Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0);
  return { ...sizes, others: jsonBytes(carried) - known };
}

/** The parts that exceed their bounds, with their sizes. */
export function excessOf(parts: Bounds, carried: unknown): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(sizesOf(parts, carried)).filter(([name, bytes]) => bytes > (parts[name]?.most ?? 0)),
  );
}
