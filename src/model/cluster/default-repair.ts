/** What an apply does about machines that drifted, unless the spec says otherwise. */
export const defaultRepair = {
  gone: 'replace',
  stopped: 'nothing',
  unreachable: 'nothing',
  rebooted: 'start',
  moved: 'confirm',
} as const;
