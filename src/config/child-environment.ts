export interface ChildEnvironmentOptions {
  /** The environment to choose from; that of this process unless given. */
  readonly from?: Readonly<Record<string, string | undefined>>;
  /** Further variables to pass on. Heddle's and Temporal's own credentials are never passed. */
  readonly pass?: readonly string[];
  /** Variables to set; they replace those that are passed on. */
  readonly set?: Readonly<Record<string, string>>;
}

/** What a program needs to find other programs, its files and its language; `SystemRoot` is for Windows. */
const alwaysPassed = ['PATH', 'HOME', 'LANG', 'SystemRoot'] as const;

/**
 * The environment of a program that Heddle starts: PATH, HOME, LANG and named variables. A worker's
 * environment also holds keys, Temporal credentials and secrets, which stay out.
 */
export function childEnvironment({
  from = process.env,
  pass = [],
  set = {},
}: ChildEnvironmentOptions = {}): Record<string, string> {
  const passed = [...alwaysPassed, ...pass].filter((name) => !isOwnCredential(name));
  return { ...pick(from, passed), ...set };
}

/** The same for execa, which otherwise adds these variables to the whole environment of this process. */
export function childOptions(options?: ChildEnvironmentOptions) {
  return { env: childEnvironment(options), extendEnv: false } as const;
}

/**
 * The environment of the command of an `exec:` reference. An administrator's may need credentials of its own tool: it
 * gets everything except the variables of Heddle and Temporal.
 * @param granted For a user's reference: the variables that heddle.yaml grants besides those of every program; its schema
 * refuses those of Vault.
 */
export function secretCommandEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  granted?: readonly string[],
): Record<string, string> {
  if (granted !== undefined) return childEnvironment({ from, pass: granted });
  return pick(
    from,
    Object.keys(from).filter((name) => !isOwnCredential(name)),
  );
}

/** The whole environment, for Heddle's own worker or builder, and what a worker runs best with. */
export function workerEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  set: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...workerDefaults, ...pick(from, Object.keys(from)), ...set };
}

/**
 * glibc reserves memory for each thread that allocates. The SDK has many threads; with two arenas a worker takes 15 %
 * less memory.
 */
const workerDefaults = { MALLOC_ARENA_MAX: '2' } as const;

/** Whether a variable opens payloads, signs in to Temporal, or says how to. */
export function isOwnCredential(name: string): boolean {
  return /^(HEDDLE|TEMPORAL)_/i.test(name);
}

function pick(
  from: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Object.hasOwn(from, name) ? from[name] : undefined;
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
