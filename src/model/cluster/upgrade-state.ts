import type { ClusterState } from './state.js';

/**
 * The version that this build writes. It has the type of the state's own, so that one cannot be raised
 * without the other.
 */
export const stateVersion: ClusterState['stateVersion'] = 1;

/** Makes a state of the next version, but for `stateVersion`, which is set for it. */
export type Lift = (state: CarriedState) => CarriedState;

/** Of any version: only its number is known. */
export type CarriedState = Readonly<Record<string, unknown>>;

/**
 * The first lifts version 1 to 2, the second 2 to 3. One is added with each version, and none is ever
 * changed.
 */
const lifts: readonly Lift[] = [];

/**
 * A state that cannot be gone on from. A plain error on purpose: it fails the workflow task, which is tried
 * again until a worker that knows the version takes it, and never the workflow.
 */
export class StateVersionError extends Error {
  override readonly name = 'StateVersionError';
}

/**
 * Upgrades the state carried from a previous run, of any released version, to the present shape.
 * @throws StateVersionError
 */
export function upgradeState(carried: unknown): ClusterState {
  return liftState(carried, lifts) as unknown as ClusterState;
}

/** The same with other lifts; after the last of them a state is present. */
export function liftState(carried: unknown, steps: readonly Lift[]): CarriedState {
  const version = versionOf(carried);
  const present = steps.length + 1;
  if (version > present) {
    throw new StateVersionError(
      `the cluster's state has version ${version}, and this build of Heddle knows versions up to ${present}: ` +
        'a newer build wrote it. Run workers of that build, or of a newer one; nothing is lost until then.',
    );
  }
  return steps
    .slice(version - 1)
    .reduce<CarriedState>(
      (state, lift, index) => ({ ...lift(state), stateVersion: version + index + 1 }),
      carried as CarriedState,
    );
}

function versionOf(carried: unknown): number {
  if (typeof carried !== 'object' || carried === null || Array.isArray(carried)) {
    throw new StateVersionError(
      `the cluster's state is ${describe(carried)}, and no state of a cluster: something else than Heddle started this run. Start clusters with 'heddle apply'.`,
    );
  }
  const version: unknown = 'stateVersion' in carried ? carried.stateVersion : undefined;
  if (typeof version === 'number' && Number.isInteger(version) && version >= 1) return version;
  throw new StateVersionError(
    `the stateVersion of the cluster's state is ${describe(version)}; it is a whole number from 1 on. ` +
      "Something else than Heddle wrote it: start clusters with 'heddle apply'.",
  );
}

function describe(value: unknown): string {
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : JSON.stringify(value);
}
