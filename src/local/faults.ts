import { randomUUID } from 'node:crypto';
import { z } from 'zod';

const faultyOperations = [
  'create',
  'describe',
  'list',
  'delete',
  'power',
  'load',
  'capture',
  'images',
  'upload',
  'download',
  'extra',
  'any',
] as const;

const filter = {
  /** How many calls it affects; 0: all until it is removed. */
  count: z.int().min(0).default(1),
  operation: z.enum(faultyOperations).default('any'),
  /** Affects only calls about a machine with this host name; `*` stands for any text. */
  hostname: z.string().optional(),
  /** Affects only calls about a machine with all of these tags. */
  tags: z.record(z.string(), z.string()).optional(),
};
const milliseconds = z.int().min(0).max(3_600_000);
const ofCreate = { ...filter, operation: z.literal('create').default('create') };

/** Scripted faults. They live in memory: a restart clears them, but not their effect on machines. */
export const faultSchema = z.discriminatedUnion('fault', [
  z.strictObject({ fault: z.literal('latency'), ms: milliseconds, ...filter }),
  /** Refused before anything was done. */
  z.strictObject({
    fault: z.literal('http'),
    status: z.union([z.literal(429), z.literal(500), z.literal(503)]),
    retryAfterSeconds: z.number().min(0).optional(),
    ...filter,
  }),
  /** Done, but the connection is cut instead of an answer. */
  z.strictObject({ fault: z.literal('lose-answer'), ...filter }),
  /** Done, but the answer waits until the fault is released. */
  z.strictObject({ fault: z.literal('hold-answer'), ...filter }),
  z.strictObject({ fault: z.literal('no-capacity'), ...ofCreate }),
  /** Lists and describes omit the new machine for this long. */
  z.strictObject({ fault: z.literal('list-lag'), ms: milliseconds, ...ofCreate }),
  z.strictObject({ fault: z.literal('never-boots'), ...ofCreate }),
  /** Runs and accepts connections, but sends nothing. */
  z.strictObject({ fault: z.literal('no-ssh'), ...ofCreate }),
  /** Dies this long after its boot. */
  z.strictObject({ fault: z.literal('dies'), ms: milliseconds, ...ofCreate }),
]);
export type Fault = z.infer<typeof faultSchema>;
export type FaultName = Fault['fault'];
type FaultOf<Name extends FaultName> = Extract<Fault, { fault: Name }>;

/** What filters compare of a call. */
export interface CallSubject {
  readonly operation: (typeof faultyOperations)[number];
  readonly hostname?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

interface Armed {
  readonly id: string;
  readonly fault: Fault;
  met: number;
  /** Responses that wait for the release. */
  readonly held: Set<() => void>;
}

/** The faults that are armed, in the order they were set. */
export class Faults {
  readonly #armed = new Map<string, Armed>();

  add(fault: Fault): string {
    const id = `f-${randomUUID().slice(0, 8)}`;
    this.#armed.set(id, { id, fault, met: 0, held: new Set() });
    return id;
  }

  /** Removes a fault and releases the responses it holds. False for an unknown id. */
  remove(id: string): boolean {
    this.#armed.get(id)?.held.forEach((release) => release());
    return this.#armed.delete(id);
  }

  clear(): void {
    for (const id of [...this.#armed.keys()]) this.remove(id);
  }

  list(): readonly object[] {
    return [...this.#armed.values()].map(({ id, fault, met, held }) => ({
      id,
      ...fault,
      met,
      held: held.size,
    }));
  }

  /** The first armed fault of this name that meets the call; meeting uses it up by one. */
  meet<Name extends FaultName>(name: Name, call: CallSubject): FaultOf<Name> | undefined {
    return this.#find(name, call)?.fault;
  }

  /** Waits while a `hold-answer` fault holds this call; ends early when the signal is aborted. */
  async hold(call: CallSubject, signal: AbortSignal): Promise<void> {
    const held = this.#find('hold-answer', call)?.held;
    if (held === undefined || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const release = (): void => {
        held.delete(release);
        resolve();
      };
      held.add(release);
      signal.addEventListener('abort', release, { once: true });
    });
  }

  #find<Name extends FaultName>(
    name: Name,
    call: CallSubject,
  ): (Armed & { readonly fault: FaultOf<Name> }) | undefined {
    for (const armed of this.#armed.values()) {
      const { fault, met } = armed;
      const isUsedUp = fault.count > 0 && met >= fault.count;
      if (fault.fault !== name || isUsedUp || !meets(fault, call)) continue;
      armed.met += 1;
      return armed as Armed & { readonly fault: FaultOf<Name> };
    }
    return undefined;
  }
}

function meets(fault: Fault, call: CallSubject): boolean {
  if (fault.operation !== 'any' && fault.operation !== call.operation) return false;
  const { hostname } = call;
  if (fault.hostname !== undefined && (hostname === undefined || !matchesGlob(fault.hostname, hostname)))
    return false;
  return Object.entries(fault.tags ?? {}).every(([name, value]) => call.tags?.[name] === value);
}

function matchesGlob(pattern: string, text: string): boolean {
  const source = pattern
    .split('*')
    .map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'))
    .join('.*');
  return new RegExp(`^${source}$`, 's').test(text);
}
