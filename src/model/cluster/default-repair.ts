/** Default reactions of an apply to drift of machines. */
export const defaultRepair = {
  gone: 'replace',
  stopped: 'nothing',
  unreachable: 'nothing',
  rebooted: 'start',
  moved: 'confirm',
} as const;
