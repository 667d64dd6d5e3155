/**
 * What can be done with a machine that is there, beside CREATE, CONFIRM and DELETE, and with images. The
 * names are activity types.
 */
export const machineActions = [
  'NODE_STATUS',
  'POWER_STATUS',
  'POWER_ON',
  'POWER_OFF',
  'POWER_RESET',
  'SET_BOOT',
  'IMAGE_EXISTS',
  'RETRIEVE_IMAGE',
  'GET_IMAGE_SIZE',
  'GET_CURRENT_IMAGE',
  'LOAD',
  'CAPTURE',
  'UNLOAD',
  'REACH',
  'PRE_RELOAD',
  'POST_LOAD',
  'PRE_CAPTURE',
  'SANITIZE',
  'TAINT',
  'MAKE_PASSWORD',
  'GRANT_ACCESS',
  'REVOKE_ACCESS',
  'TAKE_SLOT',
  'GIVE_SLOT',
  'TAKE_BUILD_PLACE',
  'BUILD_FILE',
  'DOWNLOAD_IMAGE',
  'UPLOAD_IMAGE',
  'DELETE_IMAGE',
  'REMOVE_FILE',
] as const;
export type MachineAction = (typeof machineActions)[number];

export interface MachineActionRow {
  /** Who carries it out: the provider's ability, the system's own part, or the engine. */
  readonly by: 'provider' | 'system' | 'engine';
  /** The method that a provider or an automator has for it. */
  readonly method?: string;
  /** `build` and `upload`: the queues of builders. */
  readonly queue: 'provider' | 'site' | 'build' | 'upload';
  /** It is about an image alone, and no machine. */
  readonly apart?: true;
  /** Longest one attempt may take, in ms. */
  readonly attemptMs: number;
  /**
   * Longest time over all attempts while the answer is not known, in ms; absent: it waits for as long as it
   * takes.
   */
  readonly budgetMs?: number;
  /** Attempts at most; absent: as many as the budget allows. */
  readonly attempts?: number;
  /** Longest time without any progress that the plugin tells of, in ms. */
  readonly noProgressMs?: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const look = { by: 'provider', queue: 'site', attemptMs: minute, budgetMs: 2 * minute } as const;
const power = { by: 'provider', queue: 'provider', attemptMs: 5 * minute, budgetMs: 10 * minute } as const;
const system = { by: 'system', queue: 'site', attemptMs: 15 * minute, budgetMs: 20 * minute } as const;

/** While an answer is unknown it is asked for again. */
export const machineRetry = { initialMs: second, maximumMs: 15 * second } as const;

export const machineActionTable: Readonly<Record<MachineAction, MachineActionRow>> = {
  NODE_STATUS: { by: 'engine', queue: 'site', attemptMs: minute, budgetMs: 2 * minute },
  POWER_STATUS: { ...look, method: 'powerStatus' },
  POWER_ON: { ...power, method: 'powerOn' },
  POWER_OFF: { ...power, method: 'powerOff' },
  // Sent once and never again: what a lost answer means nobody knows.
  POWER_RESET: { ...power, method: 'powerReset', attempts: 1 },
  SET_BOOT: { ...power, method: 'setBoot' },
  IMAGE_EXISTS: { ...look, method: 'imageExists' },
  RETRIEVE_IMAGE: {
    by: 'provider',
    method: 'retrieveImage',
    queue: 'provider',
    attemptMs: 2 * hour,
    budgetMs: 2 * hour,
    noProgressMs: 10 * minute,
  },
  GET_IMAGE_SIZE: { ...look, method: 'imageSize' },
  GET_CURRENT_IMAGE: { by: 'engine', queue: 'site', attemptMs: minute, budgetMs: 2 * minute },
  LOAD: {
    by: 'provider',
    method: 'load',
    queue: 'provider',
    attemptMs: 2 * hour,
    budgetMs: 2 * hour,
    noProgressMs: 10 * minute,
  },
  CAPTURE: {
    by: 'provider',
    method: 'capture',
    queue: 'provider',
    attemptMs: 6 * hour,
    budgetMs: 6 * hour,
    noProgressMs: 20 * minute,
  },
  UNLOAD: {
    by: 'provider',
    method: 'unload',
    queue: 'provider',
    attemptMs: 10 * minute,
    budgetMs: 20 * minute,
  },
  // One look per attempt, as CONFIRM does.
  REACH: { by: 'engine', queue: 'site', attemptMs: minute, budgetMs: 15 * minute },
  // What is about to be overwritten is not waited for.
  PRE_RELOAD: { ...system, method: 'preReload', budgetMs: 20 * second },
  POST_LOAD: { ...system, method: 'postLoad' },
  PRE_CAPTURE: { ...system, method: 'preCapture' },
  SANITIZE: { ...system, method: 'sanitize' },
  TAINT: { by: 'engine', queue: 'site', attemptMs: minute, budgetMs: 5 * minute },
  MAKE_PASSWORD: { by: 'engine', queue: 'site', attemptMs: minute, budgetMs: 5 * minute },
  GRANT_ACCESS: { ...system, method: 'grantAccess', budgetMs: 5 * minute },
  REVOKE_ACCESS: { ...system, method: 'revokeAccess', budgetMs: 10 * minute },
  TAKE_SLOT: { by: 'engine', queue: 'site', attemptMs: minute, budgetMs: 30 * minute },
  GIVE_SLOT: { by: 'engine', queue: 'site', attemptMs: minute, budgetMs: 30 * minute },
  // A request for a build stays until there is a builder with room for it.
  TAKE_BUILD_PLACE: { by: 'engine', queue: 'build', attemptMs: minute },
  BUILD_FILE: { by: 'engine', queue: 'build', attemptMs: 24 * hour },
  DOWNLOAD_IMAGE: {
    by: 'provider',
    method: 'downloadImage',
    apart: true,
    queue: 'upload',
    attemptMs: 6 * hour,
    budgetMs: 12 * hour,
    noProgressMs: 20 * minute,
  },
  UPLOAD_IMAGE: {
    by: 'provider',
    method: 'uploadImage',
    apart: true,
    queue: 'upload',
    attemptMs: 6 * hour,
    budgetMs: 12 * hour,
    noProgressMs: 20 * minute,
  },
  DELETE_IMAGE: {
    by: 'provider',
    method: 'deleteImage',
    apart: true,
    queue: 'provider',
    attemptMs: 5 * minute,
    budgetMs: 5 * minute,
  },
  // Without a builder it is tried again later.
  REMOVE_FILE: { by: 'engine', queue: 'upload', attemptMs: minute, budgetMs: minute },
};

export function isMachineAction(action: string): action is MachineAction {
  return machineActions.some((known) => known === action);
}
