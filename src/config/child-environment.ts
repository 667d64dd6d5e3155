export interface ChildEnvironmentOptions {
  /** The environment to choose from; that of this process unless given. */
  readonly from?: Readonly<Record<string, string | undefined>>;
  /**
   * Names of further variables to pass on. A name of Heddle's or Temporal's own credentials has no effect.
   */
  readonly pass?: readonly string[];
  /** Variables to set; they replace those that are passed on. */
  readonly set?: Readonly<Record<string, string>>;
}

/**
 * What a program needs to find other programs, its user's files and its language. `SystemRoot` is for
 * Windows.
 */
const alwaysPassed = ['PATH', 'HOME', 'LANG', 'SystemRoot'] as const;

/**
 * The environment of a program that Heddle starts: PATH, HOME, LANG and what the caller names. Everything
 * else stays out, because the environment of a worker holds the payload keys, the credentials for Temporal
 * and the values of `env:` references.
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
 * The environment of a command that stands in an `exec:` reference. It reads a secret, so it may need the
 * credentials of its own tool, which Heddle does not know: everything is passed on except what belongs to
 * Heddle and Temporal.
 */
export function secretCommandEnvironment(
  from: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return pick(
    from,
    Object.keys(from).filter((name) => !isOwnCredential(name)),
  );
}

/**
 * The environment of Heddle's own worker or builder: the whole one, as it needs the keys and resolves `env:`
 * references.
 */
export function workerEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  set: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...pick(from, Object.keys(from)), ...set };
}

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
