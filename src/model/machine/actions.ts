/** Actions of the engine that write a mark to a disk before a load, and check for it afterwards. */
export const diskMarks = ['MARK_DISK', 'CHECK_MARK'] as const;

/**
 * Actions on existing machines, besides CREATE, CONFIRM and DELETE, and on images. The names are activity
 * types.
 */
export const machineActions = [
  'NODE_STATUS',
  'ENROL',
  'READ_HARDWARE',
  'POWER_STATUS',
  'POWER_ON',
  'POWER_OFF',
  'POWER_RESET',
  'SET_BOOT',
  'BOOT_ONCE',
  'IMAGE_EXISTS',
  'RETRIEVE_IMAGE',
  'VERIFY_IMAGE',
  'GET_IMAGE_SIZE',
  'GET_CURRENT_IMAGE',
  'LOAD',
  'CAPTURE',
  'END_RUN',
  'UNLOAD',
  'ERASE',
  'REACH',
  'PRE_RELOAD',
  ...diskMarks,
  'POST_LOAD',
  'PRE_CAPTURE',
  'SANITIZE',
  'TAINT',
  'MAKE_PASSWORD',
  'GRANT_ACCESS',
  'REVOKE_ACCESS',
  'ACQUIRE_PERMIT',
  'RELEASE_PERMIT',
  'ACQUIRE_BUILD_PERMIT',
  'BUILD_FILE',
  'DOWNLOAD_IMAGE',
  'UPLOAD_IMAGE',
  'DELETE_IMAGE',
  'REMOVE_FILE',
] as const;
export type MachineAction = (typeof machineActions)[number];

export function isMachineAction(action: string): action is MachineAction {
  return machineActions.some((known) => known === action);
}
