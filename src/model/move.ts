/** An entity that was exported keeps its records, and changes nothing any more. */
interface Exported {
  readonly id: string;
  readonly by: string;
  /** Ms since the epoch. */
  readonly at: number;
}

/** The export that an entity was restored from. */
interface Restored {
  readonly from: string;
  /** Ms since the epoch. */
  readonly at: number;
}

/** One move of an entity: the export, and the installation in the tags of what was made before it. */
interface Move {
  readonly export: string;
  readonly installation: string;
}

/** What an entity carries of its moves. */
export interface Moved {
  readonly exported?: Exported;
  readonly restored?: Restored;
  /** Newest first. */
  readonly moves?: readonly Move[];
}

/**
 * The records of an entity for a move to another server or namespace. They may contain
 * credentials. The client adds the installation, the UUID of the namespace.
 */
export interface Records<Carried extends Moved> {
  readonly version: 1;
  readonly exported: Exported;
  readonly installation: string;
  readonly carried: Carried;
}

/** The records, once nothing is in flight any more; until then what has not ended. */
export type RecordsReply<Carried extends Moved> =
  | { readonly records: Omit<Records<Carried>, 'installation'> }
  | { readonly awaits: readonly string[] };

/** What a restored entity carries of its moves. */
export function movedBy({ exported, installation, carried }: Records<Moved>, now: number): Moved {
  return {
    restored: { from: exported.id, at: now },
    moves: [{ export: exported.id, installation }, ...(carried.moves ?? [])],
  };
}

/**
 * The installations in the tags of what an entity has from before its moves; undefined if it
 * never moved. None of an exported one: it may be back where it came from.
 */
export function originsOf({ moves, exported }: Moved): readonly string[] | undefined {
  if (moves === undefined) return undefined;
  return exported === undefined ? [...new Set(moves.map(({ installation }) => installation))] : [];
}

/** Why an exported entity takes no message that would change its records; undefined for any other. */
export function exportedText(
  noun: 'pool' | 'image',
  { name, exported }: Moved & { readonly name: string },
): string | undefined {
  if (exported === undefined) return undefined;
  const parts = noun === 'pool' ? 'nodes' : 'builds';
  return `${noun} ${name} was exported by ${exported.by}: its ${parts} belong to the ${noun} that restores them; to continue here instead, run 'heddle ${noun} export ${name} --cancel'`;
}
