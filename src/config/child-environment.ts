export interface ChildEnvironmentOptions {
  /** The environment to select from. Default: that of this process. */
  readonly from?: Readonly<Record<string, string | undefined>>;
  /** Further variables to pass on. Heddle's and Temporal's own credentials are never passed. */
  readonly pass?: readonly string[];
  /** Variables to set; they replace those that are passed on. */
  readonly set?: Readonly<Record<string, string>>;
}

/** Variables that every program needs; `SystemRoot` is for Windows. */
const alwaysPassed = ['PATH', 'HOME', 'LANG', 'SystemRoot'] as const;

/**
 * The environment of a program that Heddle starts: PATH, HOME, LANG and named variables. It
 * excludes keys, Temporal credentials and secrets of the worker's environment.
 */
export function childEnvironment({
  from = process.env,
  pass = [],
  set = {},
}: ChildEnvironmentOptions = {}): Record<string, string> {
  const passed = [...alwaysPassed, ...pass].filter((name) => !isOwnCredential(name));
  return { ...pick(from, passed), ...set };
}

/**
 * The environment of the command of an `exec:` reference. An administrator's command may need
 * credentials of its own tool: it gets everything except the variables of Heddle and Temporal.
 * @param granted For a user's reference: the variables that heddle.yaml grants in addition to
 * those of every program; its schema refuses VAULT_ variables.
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

/** The whole environment, for Heddle's own worker or builder, with defaults that suit a worker. */
export function workerEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  set: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...workerDefaults, ...pick(from, Object.keys(from)), ...set };
}

/**
 * glibc reserves memory for each thread that allocates. The SDK has many threads; with two
 * arenas a worker takes 15 % less memory.
 */
const workerDefaults = { MALLOC_ARENA_MAX: '2' } as const;

/** Whether a variable belongs to Heddle or Temporal: payload keys, credentials and connection settings. */
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
